"""Inference of the inputs and outputs of a main PrimFunc that does not declare them."""

from __future__ import annotations

from dataclasses import dataclass

import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule, PointerType

from usmp.analysis.memory.access import Access, MemoryUse
from usmp.analysis.memory.addresses import address_of
from usmp.analysis.memory.buffer_size import has_static_size, size_bytes
from usmp.analysis.memory.facts import module_facts
from usmp.objects import TensorInfo
from usmp.tir.dtypes import item_bytes


@dataclass(frozen=True)
class IOParameter:
    """A parameter that is an input or an output.

    Parameters
    ----------
    index
        index of the parameter.
    tensor
        name, shape and element type.
    is_input
        whether the application writes the tensor before the run; else it reads it after the run.
    is_certain
        whether the TIR proves `is_input`; if not, the content may matter during the whole run.
    """

    index: int
    tensor: TensorInfo
    is_input: bool
    is_certain: bool


def infer_io(main: str, mod: IRModule) -> list[IOParameter]:
    """Return the inputs and outputs among the parameters of `main`, in order.

    An input is never written and an output never read, by PrimFuncs at any depth of calls. A
    parameter that is read and written may accumulate or be a state: it is an uncertain output. A
    parameter that only an unknown function gets is uncertain, too. It is an output if all inputs
    and an output precede it, or if it is the last parameter and there is no output; else it is an
    input. Numbers, and untyped handles without accesses, are neither inputs nor outputs.

    Raises
    ------
    ValueError
        a parameter whose size is not known.
    """
    func = mod[main]
    uses = module_facts(mod).of(main).liveness.parameter_use
    tensors = {
        index: _tensor(main, func, index, uses[index])
        for index, param in enumerate(func.params)
        if _is_tensor(param, uses[index])
    }
    inputs = [i for i in tensors if not uses[i].access.may_write]
    outputs = [i for i in tensors if uses[i].access == Access.WRITE]
    certain = {*inputs, *outputs}
    outputs += [i for i in tensors if i not in certain and Access.WRITE in uses[i].access]
    unknown = [i for i in tensors if i not in {*inputs, *outputs}]
    for index in unknown:
        before_input = index < max(inputs, default=-1)
        after_output = index > min(outputs, default=len(func.params))
        is_last = not outputs and index == unknown[-1]
        if not before_input and (after_output or is_last):
            outputs.append(index)
    return [
        IOParameter(index, tensor, index not in outputs, index in certain)
        for index, tensor in tensors.items()
    ]


def check_declared_io(main: str, mod: IRModule, io: list[IOParameter]) -> None:
    """Check that no parameter is larger than the tensor that is declared for it.

    Raises
    ------
    ValueError
        a parameter is larger.
    """
    func = mod[main]
    for parameter in io:
        param = func.params[parameter.index]
        for view in [param] if tirx.is_buffer_var(param) else _views(func, param):
            if (
                view is not None
                and has_static_size(view)
                and size_bytes(view) > parameter.tensor.size_bytes
            ):
                raise ValueError(
                    f"{main}: tensor {parameter.tensor.name} is declared to have "
                    f"{parameter.tensor.size_bytes} bytes, but {view.name} is declared there "
                    f"with {size_bytes(view)}"
                )


def _is_tensor(param: tirx.Var, use: MemoryUse) -> bool:
    if tirx.is_buffer_var(param):
        return True
    if not isinstance(param.ty, PointerType):
        return False
    is_typed = str(param.ty.element_type) not in ("", "void")
    return is_typed or bool(use.access)


def _tensor(main: str, func: tirx.PrimFunc, index: int, use: MemoryUse) -> TensorInfo:
    """Return the tensor of a parameter: its own, or its largest view in `func`."""
    param = func.params[index]
    views = [param] if tirx.is_buffer_var(param) else _views(func, param)
    known = [view for view in views if view is not None and has_static_size(view)]
    if not known or len(known) < len(views):
        raise ValueError(
            f"{main}: the size of parameter {param.name} is not known; make it a T.Buffer of "
            "static shape, or declare such a buffer at it with T.decl_buffer"
        )
    largest = max(known, key=size_bytes)
    tensor = TensorInfo(param.name, [int(e) for e in largest.shape], str(largest.dtype))
    if tensor.size_bytes < size_bytes(largest):  # strides or an offset leave gaps
        elements = size_bytes(largest) // item_bytes(tensor.dtype)
        return TensorInfo(tensor.name, [elements], tensor.dtype)
    return tensor


def _views(func: tirx.PrimFunc, pointer: tirx.Var) -> list[tirx.Buffer | None]:
    """Return the buffers that are declared at a pointer parameter; None for one at an offset."""
    views: list[tirx.Buffer | None] = []

    def on_declaration(stmt: tirx.DeclBuffer) -> None:
        if address_of(stmt.data).bases.keys() == {pointer}:
            views.append(stmt.buffer if isinstance(stmt.data, tirx.Var) else None)

    tvm_ffi.structural_walk(func.body, (tirx.DeclBuffer, on_declaration))
    return views
