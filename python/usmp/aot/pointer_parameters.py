"""Typed pointers in place of buffer parameters of PrimFuncs, as in C functions."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import Call, Op, PointerType

from usmp.tir.identity import identity


def pass_buffers_as_pointers(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Replace the buffer parameters of a PrimFunc by pointers (see `PassBuffersAsPointers`)."""
    pointers = {
        param: tirx.Var(param.name, PointerType(param.ty.dtype))
        for param in func.params
        if tirx.is_buffer_var(param)
    }
    used: set[int] = set()
    buffer_data = Op.get("tirx.buffer_data")

    def replace_data(call: Call) -> tirx.Expr:
        if call.op.same_as(buffer_data) and call.args[0] in pointers:
            return pointers[call.args[0]]
        return call

    def on_variable(var: tirx.Var) -> None:
        used.add(identity(var))

    body = tvm_ffi.structural_map(func.body, (Call, replace_data))
    tvm_ffi.structural_walk(body, (tirx.Var, on_variable))
    declarations = [
        tirx.DeclBuffer(buffer, data=pointer)
        for buffer, pointer in pointers.items()
        if identity(buffer) in used
    ]
    if declarations:
        body = tirx.SeqStmt([*declarations, *tirx.stmt_list(body)])
    params = [pointers.get(param, param) for param in func.params]
    attrs = {key: value for key, value in dict(func.attrs).items() if key != "tirx.noalias"}
    return tirx.PrimFunc(params, body, func.ret_type, tvm.ir.make_node("ir.DictAttrs", **attrs))
