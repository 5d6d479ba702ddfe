"""FuseRecordedOperators: fused PrimFuncs keep the records of their operators."""

from __future__ import annotations

import tvm
from tvm import relax, tirx
from tvm.ir import Call, IRModule
from tvm.ir.transform import PassContext

from usmp.objects.attributes.module_attributes import SIZE_BOUNDS, STATES_ATTR
from usmp.objects.attributes.operator_attributes import (
    ACCELERATOR_FUNCTION_ATTR,
    OPERATOR_STEPS_ATTR,
    OPERATORS_ATTR,
)
from usmp.objects.operator_step import OperatorStep
from usmp.ops.control_flow import CONTROL_FLOW_ATTR
from usmp.ops.operator_steps import steps_of
from usmp.ops.records import Steps, operators_of, with_operators
from usmp.ops.records.attributes import OPERATOR_ATTR
from usmp.passes import ModulePass
from usmp.relax.grouped_spans import with_grouped_spans
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name
from usmp.tir.spans import functions_with_spans


@tvm.transform.module_pass(opt_level=0, name="usmp.FuseRecordedOperators")
class FuseRecordedOperators(ModulePass):
    """Run TVM's FuseOps and FuseTIR, and keep the records of fused operators.

    FuseOps outlines a group of operators into a Relax function, and FuseTIR turns the function into
    one PrimFunc, which loses the operators' attributes. So the attributes `quantized_operators` and
    `operator_steps` of the fused PrimFunc list the steps of its operators, in order. All inputs of
    a fused PrimFunc are live at once, while single operators free one input after the other. So a
    build also plans some groups as several PrimFuncs (`usmp.relax.stages.GroupStage`).

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    """

    reads = (
        *SIZE_BOUNDS,
        *(STATES_ATTR, OPERATORS_ATTR, OPERATOR_STEPS_ATTR, ACCELERATOR_FUNCTION_ATTR),
        *(CONTROL_FLOW_ATTR, OPERATOR_ATTR),
    )
    writes = (OPERATORS_ATTR, OPERATOR_STEPS_ATTR)

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Fuse the operators of `main`."""
        return fuse_grouped_operators(with_grouped_spans(mod, grouped_operators(mod)))


def grouped_operators(mod: IRModule) -> IRModule:
    """Return the module with a function for each group of operators that TVM fuses."""
    return relax.transform.FuseOps()(mod)


def fuse_grouped_operators(grouped: IRModule) -> IRModule:
    """Return the module with each primitive function, as FuseOps creates them, fused into one
    PrimFunc."""
    called = {
        str(variable.name_hint): _called(grouped, func)
        for variable, func in grouped.functions.items()
        if isinstance(func, relax.Function) and func.attrs and "Primitive" in func.attrs
    }
    fused = relax.transform.FuseTIR()(grouped)
    recorded = IRModule(fused.functions, attrs=fused.attrs)
    for variable, func in fused.functions.items():
        # FuseTIR names the PrimFunc like the function.
        names = called.get(str(variable.name_hint))
        if names is not None and isinstance(func, tirx.PrimFunc):
            func = with_operators(func, _records(grouped, names))
            recorded.update_func(variable, OPERATOR_STEPS_ATTR.put(func, _steps(grouped, names)))
    return functions_with_spans(grouped, recorded)


def _called(mod: IRModule, function: relax.Function) -> list[str]:
    """Return the names of the PrimFuncs that a function calls, in order."""
    return [
        str(call.args[0].name_hint)
        for block in function.body.blocks
        for binding in block.bindings
        for call in nodes_of(binding.value, Call)
        if op_name(call) == "relax.call_tir"
    ]


def _records(mod: IRModule, names: list[str]) -> Steps:
    return tuple(step for name in names for step in operators_of(mod[name]))


def _steps(mod: IRModule, names: list[str]) -> list[OperatorStep]:
    return [step for name in names for step in steps_of(mod[name], name)]
