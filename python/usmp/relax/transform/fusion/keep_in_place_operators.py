"""KeepInPlaceOperators: operators that overwrite their arguments are not fused."""

from __future__ import annotations

import tvm
from tvm import relax, tirx
from tvm.ir import Call, IRModule

from usmp.ops.emit import OPAQUE
from usmp.passes import ModulePass
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name


def in_place_operators(mod: IRModule) -> set[str]:
    """Return the names of the PrimFuncs that Relax functions of `mod` call in place."""
    return {
        str(call.args[0].name_hint)
        for func in mod.functions.values()
        if isinstance(func, relax.Function)
        for call in nodes_of(func.body, Call)
        if op_name(call) == "relax.call_tir_inplace"
    }


@tvm.transform.module_pass(opt_level=0, name="usmp.KeepInPlaceOperators")
class KeepInPlaceOperators(ModulePass):
    """Mark PrimFuncs that are called with `R.call_tir_inplace`, so that fusion leaves them alone.

    Fusion assumes that each operator writes its own memory. Fused with other readers of its
    argument, an in-place operator could overwrite elements that these still need.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Set their attribute `op_pattern` to opaque."""
        marked = IRModule(mod.functions, attrs=mod.attrs)
        names = in_place_operators(mod)
        for variable, func in mod.functions.items():
            if isinstance(func, tirx.PrimFunc) and variable.name_hint in names:
                marked.update_func(variable, func.with_attr("op_pattern", OPAQUE))
        return marked
