"""The least peak of a section, by dynamic programming over its states.

A state is a set of done calls that lacks none which must come before one of them: an ideal of the
partial order. States are taken best first, by the least peak of any way to them, so the first way
to the end is optimal; compare Ahn et al., "Ordering Chaos" (MLSys 2020). A call that raises neither
this peak nor the live bytes is made at once: what it adds to the live bytes only shrinks while
other calls are made before it, so moving it to the front of any order makes no peak larger.
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
    """What the search found.

    Parameters
    ----------
    order
        of the section's calls, with the least peak; None if none is below the limit, or if it
        was too much work.
    lower_bound
        no order of the section has a lower peak, unless that is free.
    is_proved
        whether the search came to its end.
    """

    order: Sequence[int] | None
    lower_bound: int
    is_proved: bool


def search_exactly(
    states: OperatorStates, section: CallRange, free: int, limit: int, work: Work
) -> Found:
    """Search for an order with the least peak.

    Parameters
    ----------
    states
        of the graph.
    section
        its calls.
    free
        bytes that may be live without being a peak.
    limit
        bytes that must not be live; the peak of the importer's order, so that only what is
        better is found.
    work
        ends the search.
    """
    ways: dict[int, tuple[int, list[int]]] = {}
    best = {section.start.done: free}
    ticket = count()
    heap = [(free, 0, 0, next(ticket), section.start.done, section.start, -1)]
    while heap:
        peak, left, _, _, done, before, last = heappop(heap)
        if best[done] < peak:
            continue
        if done == section.end:
            return Found(_way(ways, section), peak, is_proved=True)
        if work.is_done():
            return Found(None, peak, is_proved=False)
        # States wait as what was before them: most are never looked at.
        state = before if last < 0 else states.make(before, last, states.delta(before.done, last))
        state, made, deltas = states.schedule_free_calls(state, peak, section.end, work)
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
                ways[after] = (done, made if call < 0 else [*made, call])
                rank = left - len(ways[after][1])
                heappush(heap, (needed, rank, live, next(ticket), after, state, call))
    return Found(None, limit, is_proved=True)


def _way(ways: dict[int, tuple[int, list[int]]], section: CallRange) -> list[int]:
    """The calls that were made from the start of the section to its end."""
    parts = []
    done = section.end
    while done != section.start.done:
        done, calls = ways[done]
        parts.append(calls)
    return [call for calls in reversed(parts) for call in calls]
