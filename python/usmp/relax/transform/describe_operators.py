"""DescribeOperators: what each operator computes stays with its PrimFunc."""

from __future__ import annotations

import tvm
from tvm import tirx
from tvm.ir import IRModule

from usmp.objects.attributes import OPERATOR_SHAPES_ATTR
from usmp.ops.operator_steps import steps_of, with_steps
from usmp.passes import ModulePass


@tvm.transform.module_pass(opt_level=0, name="usmp.DescribeOperators")
class DescribeOperators(ModulePass):
    """Set the attributes `operator_steps` and `operator_shapes` of all PrimFuncs.

    Lowering makes loops over flat memory of operators, which then no longer tell a convolution
    from something else, nor shapes.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Look at each PrimFunc."""
        described = IRModule(mod.functions, attrs=mod.attrs)
        for variable, func in mod.functions.items():
            if isinstance(func, tirx.PrimFunc):
                steps = steps_of(func, str(variable.name_hint))
                described.update_func(variable, _with_shapes(with_steps(func, steps)))
        return described


def _with_shapes(func: tirx.PrimFunc) -> tirx.PrimFunc:
    shapes = {
        str(param.name): [int(extent) for extent in param.shape]
        for param in func.params
        if tirx.is_buffer_var(param) and all(isinstance(e, tirx.IntImm) for e in param.shape)
    }
    return func.with_attr(OPERATOR_SHAPES_ATTR, shapes)
