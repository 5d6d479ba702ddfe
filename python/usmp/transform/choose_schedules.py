"""ChooseSchedules: operators take the fastest of their schedules that memory allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.analysis.memory.calls import prim_funcs
from usmp.names import BALANCED, OPTIMIZE, PREFERENCE, RAM, TILES
from usmp.objects.attributes import SCHEDULE_CHOICES_ATTR, SEGMENT_ATTR
from usmp.passes import ModulePass
from usmp.planning.check_unplanned import check_unplanned
from usmp.planning.options import PlanningOptions, planning_options
from usmp.planning.schedules import ScheduledModule, instructions_of, scheduled
from usmp.planning.session import planning_session


@tvm.transform.module_pass(opt_level=0, name="usmp.ChooseSchedules")
class ChooseSchedules(ModulePass):
    """Give each PrimFunc with faster schedules the fastest one within what memory may be taken.

    Kernels compute several pixels at once; the more, the fewer bytes of their input their output
    may lie over. `tir.usmp.optimize` in the PassContext says which peaks are within it: `ram`,
    those of the smallest tiles; `balanced`, 5 % above them; `speed`, all that fit the pools.
    Choices are planned as the planner will (see `usmp.planning.schedules`). Functions without
    faster schedules, which `usmp.SelectKernels` leaves in the attribute `faster_schedules`, stay as
    they are. The module gains the attribute `schedule_choices`, which says what each goal takes; an
    algorithm of the user's, or pools that are chosen by what accesses cost, plan for one goal only.

    Raises
    ------
    ValueError
        a module that is planned already or has no entry, or one that the planner refuses; options
        that it refuses.
    """

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Replace the PrimFuncs, or return the module itself."""
        check_unplanned(mod)
        options = planning_options(context.config)
        with planning_session(options.deadline()) as session:
            found = scheduled(session, mod, options)
            if found is None:
                return mod
            choices = {}
            for goal in _goals(mod, options):
                made: ScheduledModule | None = found
                if goal != options.optimize:
                    made = scheduled(session, mod, replace(options, optimize=goal))
                    # A search that ran out of time does not say what its goal takes.
                    made = made if session.has_time(TILES) else None
                if made is not None:
                    choices[goal] = _takes(made)
        return found.mod.with_attr(SCHEDULE_CHOICES_ATTR, {"optimize": options.optimize, **choices})


def _takes(made: ScheduledModule) -> dict[str, int]:
    return {"peak_bytes": sum(made.peaks), "instructions": instructions_of(made.mod)}


def _goals(mod: IRModule, options: PlanningOptions) -> Sequence[str]:
    """Those that are compared."""
    is_quick = options.custom_algorithm is None and options.placement == PREFERENCE
    if not is_quick:
        return [options.optimize]
    # Nothing would run interleaved for speed alone.
    is_streamed = any(SEGMENT_ATTR in (func.attrs or {}) for func in prim_funcs(mod).values())
    return (
        [goal for goal in OPTIMIZE if goal in (options.optimize, RAM, BALANCED)]
        if is_streamed
        else OPTIMIZE
    )
