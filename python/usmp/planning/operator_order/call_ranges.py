"""What is true of every order of the calls: where it can be cut, and what it needs at least."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from usmp.planning.operator_order.bytes_needed import AFTER, BEFORE, bytes_needed
from usmp.planning.operator_order.graph import OperatorGraph
from usmp.planning.operator_order.states import OperatorStates, State


@dataclass(frozen=True)
class CallRange:
    """Calls that come one after the other in every order, up to the order among themselves.

    Parameters
    ----------
    calls
        in the importer's order.
    start
        the state before them.
    end
        the bits of all that is done after them.
    """

    calls: range
    start: State
    end: int


def call_ranges_of(states: OperatorStates) -> Iterator[CallRange]:
    """The calls, cut where all that come before must come before all that come after."""
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
    """Bytes that some call needs in every order: its own tensors, less what they may share at
    best, and what has users both before and after it.

    Parameters
    ----------
    states
        of the graph.
    needs
        bytes that each call needs in the importer's order, or more.
    """
    graph = states.graph
    ancestors, descendants = _ancestors(graph), _descendants(graph)
    most = 0
    for index in sorted(range(len(needs)), key=lambda index: -needs[index]):
        if needs[index] <= most:
            break  # No call needs more in every order than in this one.
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
    """By call, all that must be done before it, directly or not."""
    found: list[int] = []
    for call in graph.calls:
        mask = 0
        for other in call.after:
            mask |= 1 << other | found[other]
        found.append(mask)
    return found


def _descendants(graph: OperatorGraph) -> list[int]:
    """By call, all that must not be done before it."""
    found = [0 for _ in graph.calls]
    for index in reversed(range(len(graph.calls))):
        for other in graph.calls[index].after:
            found[other] |= 1 << index | found[index]
    return found
