"""Lower scheduled operator PrimFuncs to flat TIR: typed pointers in, flat AllocBuffers inside."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import Call, IRModule, Op, PointerType

from usmp.support.tvm_errors import apply_to_functions
from usmp.transform.begin_at_pointers import begin_at_pointers
from usmp.transform.define_arithmetic import define_arithmetic
from usmp.transform.lower_to_flat_tir import FLATTEN_LOOPS, TO_LOOPS
from usmp.transform.skip_padding import skip_padding
from usmp.transform.widen_small_floats import widen_small_floats


def lower_operators(mod: IRModule) -> IRModule:
    """Lower every PrimFunc of `mod` from blocks and shaped buffers to flat loops over pointers."""
    contiguous = IRModule(mod.functions, attrs=mod.attrs)
    for global_var, func in mod.functions.items():
        if isinstance(func, tirx.PrimFunc):
            contiguous.update_func(global_var, begin_at_pointers(func))
    # Before anything is simplified: TVM's simplifier takes it that nothing overflows.
    loops = widen_small_floats(apply_to_functions(TO_LOOPS, contiguous))
    flat = apply_to_functions(FLATTEN_LOOPS, define_arithmetic(loops))
    lowered = IRModule(flat.functions, attrs=flat.attrs)
    for global_var, func in flat.functions.items():
        if isinstance(func, tirx.PrimFunc):
            lowered.update_func(global_var, pass_buffers_as_pointers(skip_padding(func)))
    return lowered


def pass_buffers_as_pointers(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Give `func` a typed pointer parameter in the place of each buffer parameter.

    `tirx.noalias` is dropped: after planning, two buffers of one function may share bytes at
    different times, so no pointer may be promised to be the only way to its bytes.
    """
    pointers = {
        param: tirx.Var(param.name, PointerType(param.ty.dtype))
        for param in func.params
        if tirx.is_buffer_var(param)
    }
    used: set[tirx.Var] = set()
    buffer_data = Op.get("tirx.buffer_data")

    def replace_data(call: Call) -> tirx.Expr:
        if call.op.same_as(buffer_data) and call.args[0] in pointers:
            return pointers[call.args[0]]
        return call

    def on_variable(var: tirx.Var) -> None:
        used.add(var)

    body = tvm_ffi.structural_map(func.body, (Call, replace_data))
    tvm_ffi.structural_walk(body, (tirx.Var, on_variable))
    declarations = [
        tirx.DeclBuffer(buffer, data=pointer)
        for buffer, pointer in pointers.items()
        if buffer in used
    ]
    if declarations:
        body = tirx.SeqStmt([*declarations, *tirx.stmt_list(body)])
    params = [pointers.get(param, param) for param in func.params]
    attrs = {key: value for key, value in dict(func.attrs).items() if key != "tirx.noalias"}
    return tirx.PrimFunc(params, body, func.ret_type, tvm.ir.make_node("ir.DictAttrs", **attrs))
