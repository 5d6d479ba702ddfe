"""FuseRecordedOperators: fused PrimFuncs have the records of what they were fused from."""

from __future__ import annotations

import tvm
from tvm import relax, tirx
from tvm.ir import Call, IRModule

from usmp.ops.record import Steps, operators_of, with_operators
from usmp.passes import ModulePass
from usmp.tir.nodes import nodes_of


@tvm.transform.module_pass(opt_level=0, name="usmp.FuseRecordedOperators")
class FuseRecordedOperators(ModulePass):
    """TVM's FuseOps and FuseTIR, and the records of what was fused.

    FuseOps makes a Relax function of the operators that go together, and FuseTIR one PrimFunc of
    that, without the attributes of those that it comes from. The attribute `quantized_operators` of
    a fused PrimFunc has the steps of those that it computes, in their order.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Fuse the operators of `main`."""
        return fuse_grouped_operators(relax.transform.FuseOps()(mod))


def fuse_grouped_operators(grouped: IRModule) -> IRModule:
    """The module with one PrimFunc for each function that TVM's FuseOps made, or that is like
    these: a primitive function, which calls the PrimFuncs that go together."""
    steps = {
        str(variable.name_hint): _steps(grouped, func)
        for variable, func in grouped.functions.items()
        if isinstance(func, relax.Function) and func.attrs and "Primitive" in func.attrs
    }
    fused = relax.transform.FuseTIR()(grouped)
    recorded = IRModule(fused.functions, attrs=fused.attrs)
    for variable, func in fused.functions.items():
        # FuseTIR calls the PrimFunc as the function was called.
        known = steps.get(str(variable.name_hint))
        if known and isinstance(func, tirx.PrimFunc):
            recorded.update_func(variable, with_operators(func, known))
    return recorded


def _steps(mod: IRModule, function: relax.Function) -> Steps:
    """What the PrimFuncs compute that a function calls, in order."""
    steps: Steps = ()
    for block in function.body.blocks:
        for binding in block.bindings:
            for call in nodes_of(binding.value, Call):
                if getattr(call.op, "name", None) == "relax.call_tir":
                    steps += operators_of(mod[call.args[0]])
    return steps
