"""CreateAllocatesForIO: inputs and outputs become allocations of the main PrimFunc."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule

from usmp.objects.attributes import (
    INPUT_TENSOR_ATTR,
    INPUT_TENSORS_ATTR,
    MAIN_FUNCTION_NAME,
    OUTPUT_TENSOR_ATTR,
    OUTPUT_TENSORS_ATTR,
)
from usmp.objects.tensor_info import TensorInfo
from usmp.transform.module_pass import ModulePass


@tvm.transform.module_pass(opt_level=0, name="tir.usmp.CreateAllocatesForIO")
class CreateAllocatesForIO(ModulePass):
    """Replace the input and output parameters of `__tvm_main__` by annotated AllocBuffers.

    The planner then places inputs and outputs in the workspace pools with everything else.
    Which parameters are inputs and outputs is told by the attributes `input_tensors` and
    `output_tensors` of `__tvm_main__`; they come first, inputs before outputs. Use case U4 of
    TVM's planner.

    Raises
    ------
    ValueError: `__tvm_main__` lacks these attributes, or has fewer parameters than they name.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite `__tvm_main__`."""
        main = mod[MAIN_FUNCTION_NAME]
        attributes = main.attrs or {}
        if INPUT_TENSORS_ATTR not in attributes or OUTPUT_TENSORS_ATTR not in attributes:
            raise ValueError(
                f"{MAIN_FUNCTION_NAME} does not tell which of its parameters are inputs and "
                f'outputs (attributes "{INPUT_TENSORS_ATTR}" and "{OUTPUT_TENSORS_ATTR}")'
            )
        tensors = [
            *((INPUT_TENSOR_ATTR, info) for info in main.attrs[INPUT_TENSORS_ATTR]),
            *((OUTPUT_TENSOR_ATTR, info) for info in main.attrs[OUTPUT_TENSORS_ATTR]),
        ]
        if len(tensors) > len(main.params):
            raise ValueError(
                f"{MAIN_FUNCTION_NAME} has {len(main.params)} parameters, but "
                f"{len(tensors)} inputs and outputs"
            )
        rewritten = IRModule(mod.functions, attrs=mod.attrs)
        rewritten.update_func(mod.get_global_var(MAIN_FUNCTION_NAME), _allocate(main, tensors))
        return rewritten


def _allocate(main: tirx.PrimFunc, tensors: list[tuple[str, TensorInfo]]) -> tirx.PrimFunc:
    """Turn the first parameters, one for each of `tensors`, into allocations."""
    allocations: list[tirx.Stmt] = []
    addresses: dict[tirx.Var, tirx.Expr] = {}
    for param, (attribute, info) in zip(main.params, tensors, strict=False):
        buffer = param
        if not tirx.is_buffer_var(param):
            size = info.size_bytes // tvm.DataType(info.dtype).itemsize
            buffer = tirx.decl_buffer((size,), info.dtype, info.name)
            addresses[param] = buffer.data
        allocations.append(tirx.AllocBuffer(buffer, {attribute: info.name}))
    body = tvm_ffi.structural_map(main.body, (tirx.Var, lambda var: addresses.get(var, var)))
    statements = tirx.stmt_list(body)
    params = list(main.params)[len(tensors) :]
    return tirx.PrimFunc(
        params, tirx.SeqStmt([*allocations, *statements]), main.ret_type, main.attrs
    )
