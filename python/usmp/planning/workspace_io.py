"""What a model would need with inputs and outputs in the workspace, planned for comparison."""

from __future__ import annotations

from dataclasses import replace

from tvm.ir import IRModule

from usmp.names import ORDER, PREFERENCE, WORKSPACE_IO
from usmp.objects.executor import executor_of
from usmp.planning.candidates import in_orders
from usmp.planning.options import PlanningOptions
from usmp.planning.schedules import scheduled
from usmp.planning.session import PlanningSession
from usmp.planning.streaming.lower_bound import least_need
from usmp.planning.streaming.streams import best_streamed


def is_comparable(mod: IRModule, options: PlanningOptions) -> bool:
    """Whether to ask what `mod` would take: not if its inputs and outputs are in the workspace
    anyway, cannot be there (the packed interface), or some have no place at all (`StreamIO`); nor
    with an algorithm of the user's, or pools that are chosen by what accesses cost, whose plans
    take longer to make.
    """
    is_elsewhere = not (options.use_workspace_io or options.streams_io)
    is_quick = options.custom_algorithm is None and options.placement == PREFERENCE
    return is_elsewhere and is_quick and not executor_of(mod).is_packed


def ram_with_workspace_io(
    session: PlanningSession, mod: IRModule, options: PlanningOptions
) -> int | None:
    """Bytes of all workspace pools, were inputs and outputs of `mod` planned too.

    None if the planner refuses them there, no plan fits the pools, or the deadline of the session
    comes before the search has ended.

    Parameters
    ----------
    mod
        lowered, with its pools; `is_comparable`.
    options
        how it is planned otherwise.
    """
    if not session.has_time(WORKSPACE_IO):
        return None
    options = replace(options, use_workspace_io=True)
    try:
        if least_need(session, mod, options) is not None:
            return None
        modules = in_orders(session, mod, options).modules
        ordered = modules[session.best(modules, options, ORDER)]
        streamed = best_streamed(session, ordered, options)
        chosen = ordered if streamed is None else streamed.mod
        found = scheduled(session, chosen, options)
        peaks = session.peaks(chosen, options) if found is None else found.peaks
    except ValueError:
        return None
    is_whole = session.has_time(WORKSPACE_IO)
    return sum(peaks) if is_whole and peaks is not None else None
