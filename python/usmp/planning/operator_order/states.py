"""The bytes that are live while calls run in some order.

A state is the set of done calls, with a bit for each. The set decides the live bytes between two
calls, so one number identifies a state. The state before a call decides the live bytes during the
call.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from usmp.planning.operator_order.bytes_needed import AFTER, BEFORE, bytes_needed
from usmp.planning.operator_order.graph import OperatorGraph
from usmp.support.deadline import Deadline, has_passed


class LiveBytesDelta(NamedTuple):
    """The bytes that a call adds to the live bytes: the most during the call, and after it."""

    during: int
    after: int


class State(NamedTuple):
    """A set of done calls.

    Parameters
    ----------
    done
        bits of the done calls.
    live
        bytes that are live in this state.
    ready
        calls that may come next, in the importer's order.
    """

    done: int
    live: int
    ready: tuple[int, ...]


@dataclass
class Work:
    """The remaining steps of a search (deltas to compute), and its deadline if there is one."""

    left: int
    deadline: Deadline | None = None

    def is_done(self) -> bool:
        """Return whether no step remains."""
        return self.left <= 0 or has_passed(self.deadline)


class OperatorStates:
    """A graph as sets of bits, with the live bytes that each call adds.

    Parameters
    ----------
    graph
        the calls.
    shares
        whether tensors that die may share bytes with those that become live.

    Attributes
    ----------
    entry, exit
        bits of two additional calls: one writes the tensors that are live at entry, the other reads
        those that are live at exit.
    start
        the state before the first call; `entry` is done.
    users
        by tensor, the bits of the calls that use it.
    """

    def __init__(self, graph: OperatorGraph, shares: bool = True) -> None:
        count = len(graph.calls)
        self.graph = graph
        self.shares = shares
        self.entry, self.exit = 1 << count, 1 << (count + 1)
        self.users = [self.entry * t.at_entry | self.exit * t.at_exit for t in graph.tensors]
        self._everything = (1 << (count + 2)) - 1
        self._after = [union(call.after) for call in graph.calls]
        self._followers: list[list[int]] = [[] for _ in graph.calls]
        for index, call in enumerate(graph.calls):
            for use in call.uses:
                self.users[use.tensor] |= 1 << index
            for other in call.after:
                self._followers[other].append(index)
        self.used = [[self.users[use.tensor] for use in call.uses] for call in graph.calls]
        """By call, the users of each of its tensors."""
        self._deltas: list[dict[int, LiveBytesDelta]] = [{} for _ in graph.calls]
        live = sum(tensor.size_bytes for tensor in graph.tensors if tensor.at_entry)
        ready = tuple(index for index, call in enumerate(graph.calls) if not call.after)
        self.start = State(self.entry, live, ready)

    def delta(self, done: int, call: int) -> LiveBytesDelta:
        """Return the bytes that `call` adds if it comes next."""
        remaining = self._everything & ~(done | 1 << call)
        pattern = 0
        for users in self.used[call]:
            pattern <<= 2
            if users & done:
                pattern |= BEFORE
            if users & remaining:
                pattern |= AFTER
        deltas = self._deltas[call]
        if pattern not in deltas:
            deltas[pattern] = self._delta(call, pattern)
        return deltas[pattern]

    def _delta(self, index: int, pattern: int) -> LiveBytesDelta:
        call = self.graph.calls[index]
        liveness = [pattern >> 2 * place & 3 for place in reversed(range(len(call.uses)))]
        before = after = 0
        for use, live in zip(call.uses, liveness, strict=True):
            size_bytes = self.graph.tensors[use.tensor].size_bytes
            before += size_bytes if live & BEFORE else 0
            after += size_bytes if live & AFTER else 0
        needed = bytes_needed(self.graph, call, liveness, self.shares)
        return LiveBytesDelta(needed - before, after - before)

    def make(self, state: State, call: int, delta: LiveBytesDelta) -> State:
        """Return the state after `call`, which adds `delta`."""
        done = state.done | 1 << call
        ready = [other for other in state.ready if other != call]
        opened = [other for other in self._followers[call] if not self._after[other] & ~done]
        return State(done, state.live + delta.after, (*sorted(ready + opened),))

    def schedule_free_calls(
        self, state: State, peak: int, end: int, work: Work
    ) -> tuple[State, list[int], list[LiveBytesDelta]]:
        """Schedule calls that raise neither `peak` nor the live bytes, until none is left or the
        done calls are `end`. Return the last state, the scheduled calls, and the delta of each call
        that is ready in the last state."""
        free_calls: list[int] = []
        while state.done != end:
            deltas = []
            for call in state.ready:
                work.left -= 1
                delta = self.delta(state.done, call)
                if delta.after <= 0 and state.live + delta.during <= peak:
                    break
                deltas.append(delta)
            else:
                return state, free_calls, deltas
            state = self.make(state, call, delta)
            free_calls.append(call)
        return state, free_calls, []

    def make_all(self, state: State, order: Iterable[int]) -> tuple[State, list[int]]:
        """Return the state after calls in this order, and the live bytes during each."""
        needs = []
        for call in order:
            delta = self.delta(state.done, call)
            needs.append(state.live + delta.during)
            state = self.make(state, call, delta)
        return state, needs


def union(indices: Iterable[int]) -> int:
    """Return the set of some indices, with a bit for each."""
    mask = 0
    for index in indices:
        mask |= 1 << index
    return mask
