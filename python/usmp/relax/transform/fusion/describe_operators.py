"""DescribeOperators: PrimFuncs keep a description of what they compute."""

from __future__ import annotations

import tvm
from tvm import tirx
from tvm.ir import IRModule

from usmp.objects.attributes.operator_attributes import (
    ACCELERATOR_FUNCTION_ATTR,
    OPERATOR_SHAPES_ATTR,
    OPERATOR_STEPS_ATTR,
    OPERATORS_ATTR,
)
from usmp.ops.control_flow import CONTROL_FLOW_ATTR
from usmp.ops.operator_steps import steps_of
from usmp.ops.records.attributes import OPERATOR_ATTR
from usmp.passes import ModulePass


@tvm.transform.module_pass(opt_level=0, name="usmp.DescribeOperators")
class DescribeOperators(ModulePass):
    """Set the attributes `operator_steps` and `operator_shapes` of all PrimFuncs.

    They are needed because lowering flattens buffers: neither operator nor shapes can be recognized
    then.
    """

    reads = (
        *(OPERATORS_ATTR, OPERATOR_STEPS_ATTR, ACCELERATOR_FUNCTION_ATTR, CONTROL_FLOW_ATTR),
        OPERATOR_ATTR,
    )
    writes = (OPERATOR_STEPS_ATTR, OPERATOR_SHAPES_ATTR)

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Describe each PrimFunc."""
        described = IRModule(mod.functions, attrs=mod.attrs)
        for variable, func in mod.functions.items():
            if isinstance(func, tirx.PrimFunc):
                steps = steps_of(func, str(variable.name_hint))
                described.update_func(variable, _with_shapes(OPERATOR_STEPS_ATTR.put(func, steps)))
        return described


def _with_shapes(func: tirx.PrimFunc) -> tirx.PrimFunc:
    accelerator = ACCELERATOR_FUNCTION_ATTR.of(func)
    if accelerator is not None:
        # The parameters of the PrimFunc are pointers.
        tensors = [p for p in accelerator.parameters if p.role in ("input", "output")]
        shapes = {str(p.name): [int(extent) for extent in p.shape] for p in tensors}
        return OPERATOR_SHAPES_ATTR.put(func, shapes)
    shapes = {
        str(param.name): [int(extent) for extent in param.shape]
        for param in func.params
        if tirx.is_buffer_var(param) and all(isinstance(e, tirx.IntImm) for e in param.shape)
    }
    return OPERATOR_SHAPES_ATTR.put(func, shapes)
