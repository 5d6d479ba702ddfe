"""Facts about every order of the calls: where sections begin, and a lower bound of the peak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from usmp.planning.operator_order.bytes_needed import AFTER, BEFORE, bytes_needed
from usmp.planning.operator_order.graph import OperatorGraph
from usmp.planning.operator_order.states import OperatorStates, State


@dataclass(frozen=True)
class CallRange:
    """A section: calls that follow each other in every order, in any order among themselves.

    Parameters
    ----------
    calls
        the calls, in the importer's order.
    start
        the state before them.
    end
        the bits of all calls that are done after them.
    """

    calls: range
    start: State
    end: int


def call_ranges_of(states: OperatorStates) -> Iterator[CallRange]:
    """Yield the sections in order: all calls of one must come before all calls of the next."""
    common = [*_ancestors(states.graph), -1]
    for index in reversed(range(len(common) - 1)):
        common[index] &= common[index + 1]
    first, state = 0, states.start
    for stop in range(1, len(common)):
        earlier = (1 << stop) - 1
        if common[stop] & earlier == earlier:
            calls = range(first, stop)
            after, _ = states.make_all(state, calls)
            yield CallRange(calls, state, after.done)
            first, state = stop, after


def lower_bound(states: OperatorStates, needs: Sequence[int]) -> int:
    """Return a lower bound of the peak: the bytes that some call needs in every order. They are its
    own tensors, less the bytes that these may share, plus tensors with users before and after it.

    Parameters
    ----------
    states
        states of the graph.
    needs
        bytes that each call needs in the importer's order, or an upper bound of them.
    """
    graph = states.graph
    ancestors, descendants = _ancestors(graph), _descendants(graph)
    most = 0
    for index in sorted(range(len(needs)), key=lambda index: -needs[index]):
        if needs[index] <= most:
            break  # No later call needs more than this in every order.
        early, late = states.entry | ancestors[index], states.exit | descendants[index]
        certainly = [
            BEFORE * bool(users & early) | AFTER * bool(users & late)
            for users in states.used[index]
        ]
        needed = bytes_needed(graph, graph.calls[index], certainly, states.shares)
        for tensor, users in zip(graph.tensors, states.users, strict=True):
            if users & early and users & late and not users >> index & 1:
                needed += tensor.size_bytes
        most = max(most, needed)
    return most


def _ancestors(graph: OperatorGraph) -> list[int]:
    """Return, for each call, the bits of all calls that must come before it."""
    ancestors: list[int] = []
    for call in graph.calls:
        mask = 0
        for other in call.after:
            mask |= 1 << other | ancestors[other]
        ancestors.append(mask)
    return ancestors


def _descendants(graph: OperatorGraph) -> list[int]:
    """Return, for each call, the bits of all calls that must come after it."""
    descendants = [0 for _ in graph.calls]
    for index in reversed(range(len(graph.calls))):
        for other in graph.calls[index].after:
            descendants[other] |= 1 << index | descendants[index]
    return descendants
