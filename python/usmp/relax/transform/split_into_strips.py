"""SplitIntoStrips: chains of operators in vertical strips, whose borders are computed again."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.objects.attributes import SIZE_BOUNDS, STRIPS_ATTR
from usmp.ops.control_flow import CONTROL_FLOW_ATTR
from usmp.ops.emit import RECORD_ATTRIBUTES
from usmp.passes import ModulePass
from usmp.planning.options import planning_options
from usmp.relax.transform.strips.described_strips import choices_of_strips, in_strips


@tvm.transform.module_pass(opt_level=0, name="usmp.SplitIntoStrips")
class SplitIntoStrips(ModulePass):
    """Compute chains of integer operators in `main` in strips, a part of the columns at a time.

    Run row by row (see `usmp.transform.StreamOperators`), a strip keeps rows that are as narrow as
    it is. Columns that windows need from beside a strip are computed again;
    `tir.usmp.max_extra_macs` says how many more multiply-accumulates that may take, in percent of
    those of the model's integer operators. With 0, the default, the module stays as it is, as does
    one that went through this pass before.

    Operators of a chain are convolutions and pools of images with channels last, and element-wise
    ones. Only the result of the last one is read by others; each strip writes its columns of it.
    Each element is the same, to the bit. The pass takes the choice of chains and numbers of strips
    that is best by an estimate; a build plans some choices and takes the one with the smallest
    plan, if that is smaller than without strips (`usmp.relax.stages.StripStage`). The attribute
    `strips` of the module has the chains.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    ValueError
        options that the planner refuses.
    """

    reads = (*SIZE_BOUNDS, *RECORD_ATTRIBUTES, STRIPS_ATTR, CONTROL_FLOW_ATTR)
    writes = (*RECORD_ATTRIBUTES, STRIPS_ATTR)

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Rewrite `main`, or return the module itself."""
        options = planning_options(context.config)
        found = choices_of_strips(mod, options)
        if found is None or not found[1]:
            return mod
        main, (first, *_) = found
        return in_strips(main, first, max_extra_macs=options.max_extra_macs, choices=[])
