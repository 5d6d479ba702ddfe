"""A good order of a section that has too many states for exact search.

States advance together, call by call; of those with the same number of done calls only the best go
on, by their peak and then by what is live.
"""

from __future__ import annotations

from usmp.planning.operator_order.call_ranges import CallRange
from usmp.planning.operator_order.states import LiveBytesDelta, OperatorStates, State, Work

_WIDEST = 64

_Way = tuple["_Way | None", int]
"""The way to the state before, and the call after it."""


def search_with_beam(
    states: OperatorStates, section: CallRange, free: int, limit: int, work: Work
) -> list[int] | None:
    """An order with a peak below the limit; None if none is found.

    Parameters
    ----------
    states
        of the graph.
    section
        its calls.
    free
        bytes that may be live without being a peak.
    limit
        bytes that must not be live.
    work
        how wide the beam may be; it has at least one state.
    """
    beam: list[tuple[int, State, _Way | None]] = [(free, section.start, None)]
    for made in range(len(section.calls)):
        options = sum(len(state.ready) for _, state, _ in beam) / len(beam)
        left = 0 if work.is_done() else work.left
        width = int(left / options) // (len(section.calls) - made)
        found: dict[int, tuple[int, int, int, LiveBytesDelta, State, _Way | None]] = {}
        for peak, state, way in beam:
            for needed, call, delta in _candidates(states, state, peak, work):
                done = state.done | 1 << call
                known = found.get(done)
                if needed < (limit if known is None else known[0]):
                    found[done] = (needed, state.live + delta.after, call, delta, state, way)
        if not found:
            return None
        ranked = sorted(found.values(), key=lambda entry: entry[:2])
        beam = [
            (needed, states.make(state, call, delta), (way, call))
            for needed, _, call, delta, state, way in ranked[: max(1, min(width, _WIDEST))]
        ]
    return _order(beam[0][2])


def _candidates(
    states: OperatorStates, state: State, peak: int, work: Work
) -> list[tuple[int, int, LiveBytesDelta]]:
    """Peak, call and delta of each call that may come next; only one if it is free."""
    work.left -= len(state.ready)
    deltas = [(call, states.delta(state.done, call)) for call in state.ready]
    for call, delta in deltas:
        if delta.after <= 0 and state.live + delta.during <= peak:
            return [(peak, call, delta)]
    return [(max(peak, state.live + delta.during), call, delta) for call, delta in deltas]


def _order(way: _Way | None) -> list[int]:
    order = []
    while way is not None:
        way, call = way
        order.append(call)
    order.reverse()
    return order
