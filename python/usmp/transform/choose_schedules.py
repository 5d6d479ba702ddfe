"""ChooseSchedules: take the fastest schedules of operators that memory allows."""

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
    """Replace each PrimFunc by the fastest of its schedules that memory allows.

    Kernels compute tiles of several pixels; the larger a tile, the fewer bytes of its input the
    output may overlap. `tir.usmp.optimize` in the PassContext limits the peaks: `ram`, to those of
    the smallest tiles; `balanced`, to 5 % above them; `speed`, to the pools. Choices are planned
    with the planner's options (see `usmp.planning.search`). `usmp.SelectKernels` leaves faster
    schedules in the attribute `faster_schedules`; functions without it stay as they are. The
    attribute `usmp.search` of the module has the bytes of each goal; with a custom algorithm, or
    with placement by access cost, only one goal is planned.

    Raises
    ------
    ValueError
        the module has a plan already or no entry, or the planner refuses the module or the options.
    """

    reads, writes, uses = TileStage.reads, TileStage.writes, (SEARCHING,)

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Replace the PrimFuncs, or return the module itself."""
        check_unplanned(mod)
        options = planning_options(context)
        with planning_session(options.deadline()) as session:
            return Search(session, options, [TileStage()]).best(mod).mod
