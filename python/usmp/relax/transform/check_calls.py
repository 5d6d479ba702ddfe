"""CheckCalls: all callees of a Relax module can become C functions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Call, GlobalVar, IRModule, PointerType, StringImm, Var

from usmp.passes import ModulePass
from usmp.relax.static_shapes import flatten_types
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.plain_text import shown
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import PACKED_CALLS, op_name

_AS_PRIM_FUNC = "write it as a PrimFunc, and call that with R.call_tir"
_PACKED = {
    "relax.call_pure_packed": "call_pure_packed",
    "relax.call_inplace_packed": "call_inplace_packed",
    "relax.call_dps_packed": "call_dps_packed",
    "relax.call_builtin_with_ctx": "call_builtin_with_ctx",
    "relax.call_py_func": "call_py_func",
}
"""Operators that call a function of TVM's runtime -> their names in R."""
_OF_THE_RUNTIME = {
    "relax.print": "leave it out",
    "relax.assert_op": "leave it out, and check inputs before the run",
    "relax.make_closure": "call the function by its name",
    "relax.invoke_closure": "call the function by its name",
    "relax.invoke_pure_closure": "call the function by its name",
    "relax.to_vdevice": "leave it out; a build is for one device",
    "relax.hint_on_device": "leave it out; a build is for one device",
}
"""Operators that need TVM's runtime -> advice for the user."""
_OF_SEVERAL_DEVICES = ("relax.ccl.", "relax.dist.")
"""Prefixes of operators that need several devices."""


@tvm.transform.module_pass(opt_level=0, name="usmp.CheckCalls")
class CheckCalls(ModulePass):
    """Check that Relax functions call only what C can call, with matching arguments.

    A PrimFunc takes the argument tensors, then the result tensors, then sizes. Tensors must match
    in shape and element type, and be compact. The module is returned as it is.

    Raises
    ------
    UnsupportedModelError
        a function or an operator needs TVM's runtime, or a PrimFunc takes other arguments, runs in
        threads, or calls a packed function.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Check each call that is bound."""

        def on_binding(binding: relax.VarBinding) -> None:
            if isinstance(binding.value, Call):
                _check_call(mod, binding.value, f"(result {shown(binding.var.name)})")

        for func in mod.functions.values():
            if isinstance(func, relax.Function):
                tvm_ffi.structural_walk(func.body, (relax.VarBinding, on_binding))
        return mod


def _check_call(mod: IRModule, call: Call, result: str) -> None:
    if isinstance(call.op, relax.ExternFunc):
        _refuse_packed(str(call.op.global_symbol), "call_packed", result)
    operator = op_name(call)
    if operator in _PACKED:
        callee = call.args[0]
        name = callee.value if isinstance(callee, StringImm) else callee.global_symbol
        _refuse_packed(str(name), _PACKED[operator], result)
    if operator in _OF_THE_RUNTIME:
        raise UnsupportedModelError(
            f"operator {operator.removeprefix('relax.')} {result} needs TVM's runtime, which the "
            f"emitted C has not; {_OF_THE_RUNTIME[operator]}"
        )
    if operator.startswith(_OF_SEVERAL_DEVICES):
        raise UnsupportedModelError(
            f"operator {operator.removeprefix('relax.')} {result} is for several devices, and a "
            "build is for one; leave it out"
        )
    if operator == "relax.nn.batch_norm" and call.attrs.training:
        raise UnsupportedModelError(
            f"operator nn.batch_norm {result} has training=True, and would take its statistics "
            "from the batch; set training=False"
        )
    if operator in ("relax.call_tir", "relax.call_tir_inplace"):
        callee = call.args[0]
        func = mod.functions.get(callee) if isinstance(callee, GlobalVar) else None
        if not isinstance(func, tirx.PrimFunc):
            raise UnsupportedModelError(
                f"{operator.removeprefix('relax.')} {result} calls {callee}, which is no PrimFunc "
                "of the module"
            )
        check_prim_func(
            func,
            str(callee.name_hint),
            "write its loops here, or call a function in C with T.call_extern",
        )
        _check_arguments(func, call, f"operator {shown(callee.name_hint)} {result}")
        _check_inner_calls(mod, callee)


def _check_inner_calls(mod: IRModule, caller: GlobalVar) -> None:
    """Check the calls from a PrimFunc to others, transitively."""
    waiting = [caller]
    for variable in waiting:
        for call in nodes_of(mod[variable].body, Call):
            if not isinstance(call.op, GlobalVar):
                continue
            where = f"operator {shown(variable.name_hint)} calls {shown(call.op.name_hint)}"
            func = mod.functions.get(call.op)
            if not isinstance(func, tirx.PrimFunc):
                raise UnsupportedModelError(f"{where}, which is no PrimFunc of the module")
            if len(func.params) != len(call.args):
                raise UnsupportedModelError(
                    f"{where} with {len(call.args)} arguments; it takes {len(func.params)}"
                )
            for param, argument in zip(func.params, call.args, strict=True):
                _check_passed(param, argument, where)
            if call.op not in waiting:
                waiting.append(call.op)


def _check_passed(param: Var, argument: tirx.Expr, where: str) -> None:
    """Check that a passed buffer has the element type of the parameter, and as many elements."""
    if op_name(argument) == "tirx.buffer_data":
        argument = argument.args[0]
    if not tirx.is_buffer_var(param) or not tirx.is_buffer_var(argument):
        return
    count, least = (prod(buffer.shape) for buffer in (argument, param))
    is_small = isinstance(count, tirx.IntImm) and isinstance(least, tirx.IntImm) and count < least
    if str(param.dtype) != str(argument.dtype) or is_small:
        raise UnsupportedModelError(
            f"{where}, which takes {shown(param.name)} as {param.dtype}{_listed(param.shape)}, and "
            f"passes {argument.dtype}{_listed(argument.shape)}"
        )


def _refuse_packed(name: str, operator: str, result: str) -> None:
    raise UnsupportedModelError(
        f'the model calls the packed function "{shown(name)}" by {operator} {result}, which needs '
        f"TVM's runtime; {_AS_PRIM_FUNC}"
    )


def check_prim_func(func: tirx.PrimFunc, name: str, advice: str) -> None:
    """Raise if a PrimFunc needs TVM's runtime or runs in threads.

    Parameters
    ----------
    name
        name of the PrimFunc in messages.
    advice
        how to avoid the packed function.

    Raises
    ------
    UnsupportedModelError
        the PrimFunc calls a packed function or has a loop in threads; the message names it.
    """
    for call in nodes_of(func.body, Call):
        if op_name(call) in PACKED_CALLS:
            packed = call.args[0]
            packed = packed.value if isinstance(packed, StringImm) else packed
            raise UnsupportedModelError(
                f'operator {shown(name)} calls the packed function "{shown(str(packed))}", which '
                f"needs TVM's runtime; {advice}"
            )
    for loop in nodes_of(func.body, tirx.For):
        if loop.kind == tirx.ForKind.THREAD_BINDING:
            raise UnsupportedModelError(
                f"operator {shown(name)} runs loop {shown(loop.loop_var.name)} in threads "
                "(T.thread_binding); one core runs the C: make it a serial loop"
            )


def _check_arguments(func: tirx.PrimFunc, call: Call, where: str) -> None:
    """Check that the parameters of a PrimFunc match the arguments of a call."""
    tensors = call.args[1]
    inputs = list(flatten_types(tensors.ty))
    results = list(flatten_types(call.ty_args[0]))
    if call.op.name == "relax.call_tir_inplace":
        indices = [int(index) for index in call.attrs.inplace_indices]
        results = [ty for ty, index in zip(results, indices, strict=True) if index < 0]
    sizes = list(call.args[2].values) if len(call.args) > 2 else []
    count = len(inputs) + len(results) + len(sizes)
    if len(func.params) != count:
        raise UnsupportedModelError(
            f"{where} takes {len(func.params)} arguments, and is called with {count}: "
            f"{len(inputs)} inputs, {len(results)} results and {len(sizes)} sizes"
        )
    values: dict[Var, tirx.Expr] = {}
    for param, ty in zip(func.params, [*inputs, *results], strict=False):
        if isinstance(ty, relax.TensorType):
            _check_tensor(param, ty, values, where)


def _check_tensor(
    param: Var, ty: relax.TensorType, values: dict[Var, tirx.Expr], where: str
) -> None:
    """Check that a parameter is a buffer with the type of a tensor.

    Parameters
    ----------
    values
        shape variable -> its value; variables of the buffer are added.
    """
    if not tirx.is_buffer_var(param):
        if isinstance(param.ty, PointerType) and str(param.ty.element_type) not in ("", "void"):
            return
        raise UnsupportedModelError(
            f"{where} takes {shown(param.name)} of type {param.ty} where a tensor is passed; make "
            "it a T.Buffer"
        )
    shape = list(ty.shape) if isinstance(ty.shape, relax.ShapeExpr) else None
    if str(param.dtype) == str(ty.dtype) and (
        shape is None or _is_equal(list(param.shape), shape, values)
    ):
        _check_compact(param, where)
        return
    raise UnsupportedModelError(
        f"{where} takes {shown(param.name)} as {param.dtype}{_listed(param.shape)}, and is passed "
        f"{ty.dtype}{_listed(shape or [])}"
    )


def _is_equal(
    extents: Sequence[tirx.Expr], others: Sequence[tirx.Expr], values: dict[Var, tirx.Expr]
) -> bool:
    if len(extents) != len(others):
        return False
    known = (
        values.setdefault(e, o) if isinstance(e, Var) else e
        for e, o in zip(extents, others, strict=True)
    )
    return not any(
        isinstance(extent, tirx.IntImm) and isinstance(other, tirx.IntImm) and extent != other
        for extent, other in zip(known, others, strict=True)
    )


def _check_compact(buffer: Var, where: str) -> None:
    """Check that a buffer begins at its pointer and has no gaps."""
    expected = 1
    for extent, stride in zip(reversed(buffer.shape), reversed(buffer.strides), strict=False):
        if not isinstance(extent, tirx.IntImm) or not isinstance(stride, tirx.IntImm):
            break
        if int(extent) != 1 and int(stride) != expected:
            raise UnsupportedModelError(
                f"{where} takes {shown(buffer.name)} with strides {_listed(buffer.strides)}; the "
                "elements of a tensor have no gaps"
            )
        expected *= int(extent)
    if isinstance(buffer.elem_offset, tirx.IntImm) and int(buffer.elem_offset) != 0:
        raise UnsupportedModelError(
            f"{where} takes {shown(buffer.name)} at element {buffer.elem_offset}; give it no "
            "elem_offset"
        )


def _listed(extents: Sequence[tirx.Expr]) -> str:
    known = (int(e) if isinstance(e, tirx.IntImm) else e for e in extents)
    return f"[{', '.join(map(str, known))}]"
