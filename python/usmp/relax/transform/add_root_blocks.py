"""AddRootBlocks: PrimFuncs of plain loops get the root block that Relax passes expect."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import relax, s_tir, tirx
from tvm.ir import Call, GlobalVar, IRModule

from usmp.ops.emit import OPAQUE
from usmp.passes import ModulePass
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name


@tvm.transform.module_pass(opt_level=0, name="usmp.AddRootBlocks")
class AddRootBlocks(ModulePass):
    """Put a root block around the body of each PrimFunc that `R.call_tir` calls and that has none.

    TVM's fusion analyzes operators as blocks. The root block is opaque, so nothing is fused with it
    and its loops stay as they are. PrimFuncs that call others pass pointers instead of buffers.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Wrap the bodies."""
        called: set[GlobalVar] = {
            call.args[0]
            for func in mod.functions.values()
            if isinstance(func, relax.Function)
            for call in nodes_of(func.body, Call)
            if op_name(call) == "relax.call_tir"
        }
        changed = {}
        for variable, func in mod.functions.items():
            if not isinstance(func, tirx.PrimFunc):
                continue
            if nodes_of(func.body, GlobalVar):
                changed[variable] = func = _passing_pointers(func)
            if variable in called and not isinstance(func.body, s_tir.SBlockRealize):
                changed[variable] = _wrapped(func)
        if not changed:
            return mod
        return IRModule({**dict(mod.functions.items()), **changed}, attrs=mod.attrs)


def _passing_pointers(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Pass pointers instead of buffers to other PrimFuncs, because TVM does not flatten these
    buffers."""

    def with_pointers(call: Call) -> Call:
        if not isinstance(call.op, GlobalVar):
            return call
        args = [a.data if tirx.is_buffer_var(a) else a for a in call.args]
        return Call(call.op, args, call.attrs, call.ty_args, call.span, call.ty)

    return func.with_body(tvm_ffi.structural_map(func.body, (Call, with_pointers)))


def _wrapped(func: tirx.PrimFunc) -> tirx.PrimFunc:
    block = s_tir.SBlock([], [], [], "root", func.body)
    func = func.with_body(s_tir.SBlockRealize([], True, block))
    return func.with_attr("op_pattern", OPAQUE)
