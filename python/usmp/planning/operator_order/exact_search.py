"""The least peak of a section, by dynamic programming over its states.

A state is a set of done calls that contains all predecessors of its calls: an ideal of the partial
order. States are expanded best first, by the least peak of any way to them, so the first way to the
end is optimal; compare Ahn et al., "Ordering Chaos" (MLSys 2020). A call that raises neither this
peak nor the live bytes comes next at once. The bytes that it adds only shrink if other calls run
before it, so moving it to the front of any order makes no peak larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from usmp.planning.operator_order.call_ranges import CallRange
from usmp.planning.operator_order.states import OperatorStates, Work


@dataclass(frozen=True)
class Found:
    """The result of an exact search.

    Parameters
    ----------
    order
        the section's calls with the least peak; None if no order is below the limit, or if the
        search takes too long.
    lower_bound
        lower bound of the section's peak, if it is above the free bytes.
    is_proved
        whether the search is complete.
    """

    order: Sequence[int] | None
    lower_bound: int
    is_proved: bool


def search_exactly(
    states: OperatorStates, section: CallRange, free: int, limit: int, work: Work
) -> Found:
    """Search for the order of a section with the least peak, and return the result.

    Parameters
    ----------
    states
        states of the graph.
    section
        calls to order.
    free
        live bytes that other sections need in any case, so that no lower peak is better.
    limit
        live bytes that the order must stay below: the peak of the importer's order, so that only
        better orders count.
    work
        steps that limit the search.
    """
    ways: dict[int, tuple[int, list[int]]] = {}
    best = {section.start.done: free}
    ticket = count()
    heap = [(free, 0, 0, next(ticket), section.start.done, section.start, -1)]
    while heap:
        peak, parent_rank, _, _, done, before, last = heappop(heap)
        if best[done] < peak:
            continue
        if done == section.end:
            return Found(_way(ways, section), peak, is_proved=True)
        if work.is_done():
            return Found(None, peak, is_proved=False)
        # Make states when they are expanded, because most never are.
        state = before if last < 0 else states.make(before, last, states.delta(before.done, last))
        state, free_calls, deltas = states.schedule_free_calls(state, peak, section.end, work)
        steps = [(peak, state.done, state.live, -1)]
        if state.done != section.end:
            work.left -= len(state.ready)
            steps = [
                (
                    max(peak, state.live + delta.during),
                    state.done | 1 << call,
                    state.live + delta.after,
                    call,
                )
                for call, delta in zip(state.ready, deltas, strict=True)
            ]
        for needed, after, live, call in steps:
            if needed < best.get(after, limit):
                best[after] = needed
                ways[after] = (done, free_calls if call < 0 else [*free_calls, call])
                rank = parent_rank - len(ways[after][1])
                heappush(heap, (needed, rank, live, next(ticket), after, state, call))
    return Found(None, limit, is_proved=True)


def _way(ways: dict[int, tuple[int, list[int]]], section: CallRange) -> list[int]:
    """Return the calls on the best way from the start of the section to its end."""
    parts = []
    done = section.end
    while done != section.start.done:
        done, calls = ways[done]
        parts.append(calls)
    return [call for calls in reversed(parts) for call in calls]
