"""States that lie in what extends them.

A streaming operator reads a window: the state, which is the last rows of the runs before, and
behind it the new rows. The window's last rows are the state after the run. Where a concat begins
with a state, the two are one buffer, of which the first part is kept between runs: the new rows are
written behind the state, and what reads the window reads all of it. Once nothing needs the window
any more, its last rows are moved to its start, in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from tvm import tirx

from usmp.aot.live_tensors import LiveBytes
from usmp.aot.main_calls import MainCall, MainCalls, View


@dataclass(frozen=True)
class StateWindows:
    """What decides which states may lie in a window.

    Parameters
    ----------
    new_values
        each state with the tensor that is its value after the run.
    own
        tensors that calls write and that no one else owns.
    returned
        those of them that the caller gets, and new values of states.
    overwritten
        tensors that are written where there is content that may matter.
    """

    new_values: Mapping[tirx.Buffer, tirx.Buffer]
    own: Set[tirx.Buffer]
    returned: Set[tirx.Buffer]
    overwritten: Set[tirx.Buffer]

    def extend(self, calls: MainCalls, copy: MainCall) -> bool:
        """Let a state be the start of the concat that it is copied to, if it may be.

        The state keeps its old value there until its new one is written, which comes after the last
        call that takes the concat. So neither may be written over by anything else, and the concat
        may not be read after the run. Its part that is the new value needs no tensor of its own.
        """
        state = copy.arguments[0]
        window, offset = calls.root(copy.arguments[1])
        if not self._may_extend(calls, state, window) or offset != 0:
            return False
        calls.views[state] = View(window, 0)
        calls.calls.remove(copy)
        self._read_in_place(calls, self.new_values[state], window)
        return True

    def _may_extend(self, calls: MainCalls, state: tirx.Buffer, window: tirx.Buffer) -> bool:
        return (
            state in self.new_values
            and not self.new_values[state].same_as(state)
            and state not in calls.views
            and window in self.own - self.returned
            and not {state, window} & self.overwritten
            and window not in windows(calls, self.new_values)
        )

    def _read_in_place(self, calls: MainCalls, value: tirx.Buffer, window: tirx.Buffer) -> None:
        """Let a new value that is copied out of the window be that part of it.

        Another state of the same new value would find the part moved.
        """
        if value not in self.own - self.overwritten or value in calls.views:
            return
        if sum(value.same_as(other) for other in self.new_values.values()) > 1:
            return
        for call in calls.calls:
            if call.operator is None and call.arguments[1].same_as(value):
                root, begin = calls.root(call.arguments[0])
                if root.same_as(window):
                    calls.views[value] = View(window, begin)
                    calls.calls.remove(call)
                return


def windows(calls: MainCalls, states: Iterable[tirx.Buffer]) -> set[tirx.Buffer]:
    """The tensors of which a state is a part."""
    return {calls.views[state].whole for state in states if state in calls.views}


def extend_by_live_bytes(calls: MainCalls, found: StateWindows, copies: list[MainCall]) -> None:
    """Let states lie in windows, but where fewer bytes live at once if some do not.

    A window takes its bytes at all times, and a state and a concat take the state's twice, but only
    for a while: which is less depends on what else there is.
    """
    possible = [copy for copy in copies if copy.arguments[0] in found.new_values]
    if not possible:
        return
    # One that is large by itself may cost nothing where others are.
    chosen, least = possible, _peak(calls, found, possible)
    if _peak(calls, found, []) < least:
        chosen, least = [], _peak(calls, found, [])
    for copy in possible:
        changed = [other for other in possible if (other in chosen) != (other is copy)]
        peak = _peak(calls, found, changed)
        if peak < least:
            chosen, least = changed, peak
    for copy in chosen:
        found.extend(calls, copy)


def _peak(calls: MainCalls, found: StateWindows, chosen: list[MainCall]) -> int:
    """The bytes that live at once if the chosen copies are not made."""
    before = list(calls.calls), dict(calls.views)
    for copy in chosen:
        found.extend(calls, copy)
    always = {*found.new_values, *windows(calls, found.new_values)} - calls.views.keys()
    # A new value that is a copy is written to the state itself.
    moved = {call.arguments[1] for call in calls.calls if call.operator is None}
    counted = (found.own | always) - (moved & set(found.new_values.values()))
    peak = LiveBytes.of(calls, counted, found.returned, always).peak()
    calls.calls, calls.views = before
    return peak
