"""A beam search for the order of a section that has too many states for exact search.

States advance together, call by call. Of the states with equally many done calls, only the best
continue, ranked by their peak and then by their live bytes.
"""

from __future__ import annotations

from usmp.planning.operator_order.call_ranges import CallRange
from usmp.planning.operator_order.states import LiveBytesDelta, OperatorStates, State, Work

_WIDEST = 64

_Way = tuple["_Way | None", int]
"""A linked list of calls: the calls before, and the last call."""


def search_with_beam(
    states: OperatorStates, section: CallRange, free: int, limit: int, work: Work
) -> list[int] | None:
    """Return an order with a peak below the limit; None if none is found.

    Parameters
    ----------
    states
        states of the graph.
    section
        calls to order.
    free
        live bytes that other sections need in any case, so that no lower peak is better.
    limit
        live bytes that the order must stay below.
    work
        steps that limit the width of the beam, which has at least one state.
    """
    beam: list[tuple[int, State, _Way | None]] = [(free, section.start, None)]
    for position in range(len(section.calls)):
        options = sum(len(state.ready) for _, state, _ in beam) / len(beam)
        steps_left = 0 if work.is_done() else work.left
        width = int(steps_left / options) // (len(section.calls) - position)
        candidates: dict[int, tuple[int, int, int, LiveBytesDelta, State, _Way | None]] = {}
        for peak, state, way in beam:
            for needed, call, delta in _candidates(states, state, peak, work):
                done = state.done | 1 << call
                known = candidates.get(done)
                if needed < (limit if known is None else known[0]):
                    candidates[done] = (needed, state.live + delta.after, call, delta, state, way)
        if not candidates:
            return None
        ranked = sorted(candidates.values(), key=lambda entry: entry[:2])
        beam = [
            (needed, states.make(state, call, delta), (way, call))
            for needed, _, call, delta, state, way in ranked[: max(1, min(width, _WIDEST))]
        ]
    return _order(beam[0][2])


def _candidates(
    states: OperatorStates, state: State, peak: int, work: Work
) -> list[tuple[int, int, LiveBytesDelta]]:
    """Return peak, call and delta of each possible next call, or of one that raises
    neither the peak nor the live bytes."""
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
