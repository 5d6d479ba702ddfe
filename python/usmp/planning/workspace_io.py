"""What a model would need with inputs and outputs in the workspace, planned for comparison."""

from __future__ import annotations

from dataclasses import replace

from tvm.ir import IRModule

from usmp.names import PREFERENCE
from usmp.planning.candidates import in_orders
from usmp.planning.options import PlanningOptions
from usmp.planning.schedules import scheduled
from usmp.planning.session import PlanningSession
from usmp.planning.streaming.streams import best_streamed


def ram_with_workspace_io(
    session: PlanningSession, mod: IRModule, options: PlanningOptions
) -> int | None:
    """Bytes of all workspace pools, were inputs and outputs of `mod` planned too.

    None if the planner refuses them there or no plan fits the pools; and with an algorithm of the
    user's, or pools that are chosen by what accesses cost, whose plans take longer to make.

    Parameters
    ----------
    mod
        lowered, with its pools.
    options
        how it is planned otherwise; without its time budget.
    """
    if options.custom_algorithm is not None or options.placement != PREFERENCE:
        return None
    options = replace(options, use_workspace_io=True)
    try:
        modules = in_orders(session, mod, options).modules
        ordered = modules[session.best(modules, options)]
        streamed = best_streamed(session, ordered, options)
        chosen = ordered if streamed is None else streamed.mod
        found = scheduled(session, chosen, options)
        peaks = session.peaks(chosen, options) if found is None else found.peaks
    except ValueError:
        return None
    return None if peaks is None else sum(peaks)
