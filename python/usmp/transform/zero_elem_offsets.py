"""ZeroElemOffsets: let the tensors of operators begin at their pointers."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule, Var

from usmp.passes import ModulePass, with_prim_funcs


@tvm.transform.module_pass(opt_level=0, name="usmp.ZeroElemOffsets")
class ZeroElemOffsets(ModulePass):
    """Replace symbolic offsets of parameters (`elem_offset`), which TVM leaves to the caller, by 0.

    TVM gives the parameters of `te.extern` operators symbolic offsets. Every tensor of a Relax
    model is contiguous and begins at its first element.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite every PrimFunc."""
        return with_prim_funcs(mod, _zero_elem_offsets)


def _zero_elem_offsets(func: tirx.PrimFunc) -> tirx.PrimFunc:
    offsets = {
        param.ty.elem_offset
        for param in func.params
        if tirx.is_buffer_var(param) and isinstance(param.ty.elem_offset, Var)
    }
    if not offsets:
        return func
    replaced: dict[Var, tirx.Expr] = {
        offset: tirx.IntImm(str(offset.ty.dtype), 0) for offset in offsets
    }
    for param in func.params:
        if tirx.is_buffer_var(param) and param.ty.elem_offset in offsets:
            replaced[param] = tirx.decl_buffer(
                param.shape, str(param.dtype), param.name, strides=list(param.ty.strides)
            )
    body = tvm_ffi.structural_map(func.body, (Var, lambda var: replaced.get(var, var)))
    params = [replaced.get(param, param) for param in func.params]
    return tirx.PrimFunc(params, body, func.ret_type, func.attrs)
