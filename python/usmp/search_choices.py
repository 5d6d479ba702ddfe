"""SearchChoices: lower a model to the form with the smallest plan."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import replace

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.current_context import changed_context
from usmp.names import PREFERENCE, WORKSPACE_IO
from usmp.objects.arguments.executor import executor_of
from usmp.objects.attributes.compared import Alternative, Compared, with_compared
from usmp.objects.entries import entries_of
from usmp.objects.schedule import FASTER_SCHEDULES_ATTR, SCHEDULE_ATTR
from usmp.objects.symbolic_size import has_symbolic_sizes
from usmp.ops.control_flow import CONTROL_FLOW_ATTR
from usmp.passes import ModulePass
from usmp.planning.attribute_access import SEARCHING
from usmp.planning.options import PlanningOptions, planning_options
from usmp.planning.search import Search, Stage
from usmp.planning.search.search import PassOrStage
from usmp.planning.session import PlanningSession, planning_session
from usmp.planning.streaming.lower_bound import least_need
from usmp.support.process.meanwhile import meanwhile


@tvm.transform.module_pass(opt_level=0, name="usmp.SearchChoices")
class SearchChoices(ModulePass):
    """Lower a Relax module to TIR in the form with the smallest plan (`usmp.planning.search`).

    The PassContext has the `PlanningOptions`. The module gains the attribute `usmp.search`, a
    record of the choices that were compared.

    Parameters
    ----------
    lowering
        passes and stages up to a main PrimFunc.
    planning
        later passes and stages, which depend on the places of inputs and outputs.
    how
        a key for the parameters of all steps; a session has one search for each key.
    compare_workspace_io
        whether to plan again with inputs and outputs in the workspace, only to record the bytes.

    Raises
    ------
    UnsupportedModelError, ValueError
        as the passes and the planner raise them.
    """

    reads = (SCHEDULE_ATTR, FASTER_SCHEDULES_ATTR, CONTROL_FLOW_ATTR)
    uses = (SEARCHING,)

    def __init__(
        self,
        lowering: Sequence[PassOrStage],
        planning: Sequence[PassOrStage],
        how: Hashable,
        compare_workspace_io: bool = False,
    ) -> None:
        self.steps = [*lowering, *planning]
        self.stages = [step for step in planning if isinstance(step, Stage)]
        self.how = how
        self.compare_workspace_io = compare_workspace_io

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Return the module after all steps."""
        options = planning_options(context)
        with planning_session(options.deadline()) as session:
            search = Search(session, options, self.steps, self.how)
            if not self.compare_workspace_io:
                return search.best(mod).mod
            lowered = search.before(mod, self.stages[0])
            if not _is_comparable(lowered, options) or not session.has_time(WORKSPACE_IO):
                return search.best(mod).mod

            placed = replace(options, use_workspace_io=True)
            asked, compared_search = lowered, Search(session, placed, self.stages, "workspace I/O")
            if len(entries_of(lowered)) > 1:
                # The choices of each entry depend on it, and are made where entries are lowered.
                asked, compared_search = mod, Search(session, placed, self.steps, self.how)

            def ask() -> int | None:
                return _ram_with_workspace_io(compared_search, asked)

            # With a time budget, plan first, so that the comparison gets only the remaining time.
            with meanwhile(ask, late=session.deadline is not None) as compared:
                best = search.best(mod).mod
                if session.deadline is not None:
                    _plan(session, best, options)
                ram_bytes = compared()
            if ram_bytes is not None:
                other = Alternative("in the workspace", "not asked", ram_bytes)
                line = Compared(WORKSPACE_IO, "provided by the application", None, (other,))
                return with_compared(best, [line])
            # Record here if time ended the comparison, because it may have run in another process.
            session.has_time(WORKSPACE_IO)
            return best


def _is_comparable(mod: IRModule, options: PlanningOptions) -> bool:
    """Return whether inputs and outputs are outside of the workspace, and could be in it.

    Packed interfaces do not permit it, and streamed tensors (`StreamIO`) have no place. A custom
    algorithm, or placement by access cost, takes too long. Offsets as expressions of sizes leave
    inputs and outputs where they are.
    """
    is_elsewhere = not (options.use_workspace_io or options.streams_io)
    is_elsewhere &= not options.computes_offsets or not has_symbolic_sizes(mod)
    is_quick = options.custom_algorithm is None and options.placement == PREFERENCE
    return is_elsewhere and is_quick and not executor_of(mod).is_packed


def _ram_with_workspace_io(search: Search, mod: IRModule) -> int | None:
    """Return the bytes of all workspace pools by a search with inputs and outputs in them.

    Returns
    -------
    int | None
        None if the planner refuses this placement, if no plan fits the pools, or if the deadline
        comes before the search has ended.
    """
    session = search.session
    if not session.has_time(WORKSPACE_IO):
        return None
    config = {**PassContext.current().config, "tir.usmp.use_workspace_io": True}
    try:
        # Keep a separate record, so that the search for the plan does not count as cut short.
        with session.own_record(), changed_context(config=config):
            peaks = search.peaks(mod)
    except ValueError:
        return None
    is_whole = session.has_time(WORKSPACE_IO)
    return sum(peaks) if is_whole and peaks is not None else None


def _plan(session: PlanningSession, mod: IRModule, options: PlanningOptions) -> None:
    """Plan a module now, so that the planner later finds the plan in the session."""
    with suppress(ValueError):
        if least_need(session, mod, options) is None:
            session.plan(session.prepared(mod, options), options)
