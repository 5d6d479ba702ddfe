"""SplitIntoStrips: chains of operators compute vertical strips, with recomputed halos."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.objects.attributes.module_attributes import SIZE_BOUNDS, STRIPS_ATTR
from usmp.ops.control_flow import CONTROL_FLOW_ATTR
from usmp.ops.emit import RECORD_ATTRIBUTES
from usmp.passes import ModulePass
from usmp.planning.options import planning_options
from usmp.relax.transform.strips.described_strips import choices_of_strips, in_strips


@tvm.transform.module_pass(opt_level=0, name="usmp.SplitIntoStrips")
class SplitIntoStrips(ModulePass):
    """Split chains of integer operators in `main` into strips, which compute some columns each.

    A strip that runs row by row (see `usmp.transform.StreamOperators`) stores only narrow rows. The
    halo of columns that neighboring strips share is recomputed. `tir.usmp.max_extra_macs` limits
    the extra multiply-accumulates, in percent of those of the model's integer operators. With 0,
    the default, the module stays as it is. So does a module that this pass has already split.

    A chain consists of NHWC convolutions and pools, and element-wise operators. Only its last
    result has other readers; each strip writes its columns there. Results are the same, to the bit.
    The pass takes the chains and numbers of strips that are best by an estimate. A build plans some
    choices and takes the smallest plan (`usmp.relax.stages.StripStage`). The attribute `strips` of
    the module lists the chains.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    ValueError
        the planner refuses an option.
    """

    reads = (*SIZE_BOUNDS, *RECORD_ATTRIBUTES, STRIPS_ATTR, CONTROL_FLOW_ATTR)
    writes = (*RECORD_ATTRIBUTES, STRIPS_ATTR)

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Rewrite `main`, or return the module itself."""
        options = planning_options(context)
        choices = choices_of_strips(mod, options)
        if choices is None or not choices[1]:
            return mod
        main, (first, *_) = choices
        return in_strips(main, first, max_extra_macs=options.max_extra_macs, choices=[])
