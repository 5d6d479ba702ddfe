"""The search for the order of calls with the least peak of live bytes.

The calls fall into sections: all calls of a section come before those of the next, in any order.
Each section is searched exactly (see `exact_search`). If that takes too long, it is searched by a
beam of the best states (see `beam_search`), and the bound of the exact search remains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from usmp.planning.operator_order.beam_search import search_with_beam
from usmp.planning.operator_order.call_ranges import call_ranges_of, lower_bound
from usmp.planning.operator_order.exact_search import search_exactly
from usmp.planning.operator_order.graph import OperatorGraph
from usmp.planning.operator_order.states import OperatorStates, Work
from usmp.support.deadline import Deadline

MOST_STEPS = 200_000
"""Most steps of each of the two searches, exact and beam: less than a second each."""


@dataclass(frozen=True)
class OperatorOrder:
    """An order of calls, with its peak and a lower bound.

    Parameters
    ----------
    order
        indices of the calls, in the order in which they run.
    importer_peak_bytes
        most bytes live at once in the importer's order.
    peak_bytes
        most bytes live at once in this order, at most `importer_peak_bytes`.
    lower_bound_bytes
        lower bound of the peaks of all orders.
    """

    order: tuple[int, ...]
    importer_peak_bytes: int
    peak_bytes: int
    lower_bound_bytes: int


def least_peak_order(
    graph: OperatorGraph, most_steps: int = MOST_STEPS, deadline: Deadline | None = None
) -> OperatorOrder:
    """Return the order with the least peak that is found, the importer's if none is better.

    Sections that do not raise the peak keep the importer's order. The same graph gives the same
    order on every machine, if there is no deadline.

    Parameters
    ----------
    graph
        graph of the calls.
    most_steps
        most steps of each of the two searches, exact and beam, over all sections.
    deadline
        time after which the exact search ends, and the beam has one state.
    """
    states = OperatorStates(graph)
    apart = OperatorStates(graph, shares=False)
    _, needs = apart.make_all(apart.start, range(len(graph.calls)))
    sections = list(call_ranges_of(apart))
    orders: list[Sequence[int]] = [section.calls for section in sections]
    bound = reached = importer_peak = lower_bound(states, needs)
    exact, beam = Work(most_steps, deadline), Work(most_steps, deadline)
    # Compute shared bytes only for sections that may raise the peak, because they take a while.
    at_most = [max(needs[call] for call in section.calls) for section in sections]
    for index in sorted(range(len(sections)), key=lambda index: -at_most[index]):
        section = sections[index]
        if at_most[index] <= reached:
            break
        peak = max(states.make_all(section.start, section.calls)[1])
        importer_peak = max(importer_peak, peak)
        if peak <= reached:
            continue
        result = search_exactly(states, section, reached, peak, exact)
        if result.lower_bound > reached:
            bound = result.lower_bound
        order = result.order
        if not result.is_proved:
            order = search_with_beam(states, section, reached, peak, beam)
        if order is not None:
            orders[index] = order
        reached = max(reached, *states.make_all(section.start, orders[index])[1])
    return OperatorOrder(
        order=tuple(call for order in orders for call in order),
        importer_peak_bytes=importer_peak,
        peak_bytes=reached,
        lower_bound_bytes=bound,
    )
