"""ChooseSchedules: operators take the fastest of their schedules that memory allows."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.passes import ModulePass
from usmp.planning.attribute_access import SEARCHING
from usmp.planning.check_unplanned import check_unplanned
from usmp.planning.options import planning_options
from usmp.planning.search import Search
from usmp.planning.search.stages import TileStage
from usmp.planning.session import planning_session


@tvm.transform.module_pass(opt_level=0, name="usmp.ChooseSchedules")
class ChooseSchedules(ModulePass):
    """Give each PrimFunc with faster schedules the fastest one within what memory may be taken.

    Kernels compute several pixels at once; the more, the fewer bytes of their input their output
    may lie over. `tir.usmp.optimize` in the PassContext says which peaks are within it: `ram`,
    those of the smallest tiles; `balanced`, 5 % above them; `speed`, all that fit the pools.
    Choices are planned as the planner will (see `usmp.planning.search`). Functions without
    faster schedules, which `usmp.SelectKernels` leaves in the attribute `faster_schedules`, stay as
    they are. The attribute `usmp.search` of the module says what each goal takes; an
    algorithm of the user's, or pools that are chosen by what accesses cost, plan for one goal only.

    Raises
    ------
    ValueError
        a module that is planned already or has no entry, or one that the planner refuses; options
        that it refuses.
    """

    reads, writes, uses = TileStage.reads, TileStage.writes, (SEARCHING,)

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Replace the PrimFuncs, or return the module itself."""
        check_unplanned(mod)
        options = planning_options(context.config)
        with planning_session(options.deadline()) as session:
            return Search(session, options, [TileStage()]).best(mod).mod
