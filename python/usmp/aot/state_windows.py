"""States as the start of the windows that extend them.

A streaming operator reads a window: the state, with the last rows of previous runs, and then the
new rows. The window's last rows are the state after the run. If a concat begins with a state, both
become one buffer, whose first part is kept between runs. New rows are written after the state, and
operators read the whole window. After its last use, the last rows are moved to its start, in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from tvm import tirx

from usmp.aot.live_tensors import LiveBytes
from usmp.aot.main_calls import MainCall, MainCalls, View


@dataclass(frozen=True)
class StateWindows:
    """The tensors that decide which states may be parts of windows.

    Parameters
    ----------
    new_values
        state -> tensor with its value after the run.
    own
        tensors that calls write and that have no other owner.
    returned
        tensors that the caller gets, and new values of states.
    overwritten
        tensors that are overwritten while their content may be live.
    """

    new_values: Mapping[tirx.Buffer, tirx.Buffer]
    own: Set[tirx.Buffer]
    returned: Set[tirx.Buffer]
    overwritten: Set[tirx.Buffer]

    def extend(self, calls: MainCalls, copy: MainCall) -> bool:
        """Make a state the start of the concat that it is copied to, if possible.

        The state keeps its old value until its new value is written, after the last use of the
        concat. So nothing else may overwrite either of them, and the concat must not be read after
        the run. The new value, a part of the concat, needs no tensor of its own.
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
        """Make a new value that is copied from the window a view of it.

        This is skipped if two states share the new value, because the second one would read moved
        rows.
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
    """Return the tensors that have a state as a part."""
    return {calls.views[state].whole for state in states if state in calls.views}


def extend_by_live_bytes(calls: MainCalls, found: StateWindows, copies: list[MainCall]) -> None:
    """Make states parts of windows where this does not raise the peak of live bytes.

    A window is always live. A separate concat holds the state's bytes a second time, but only for a
    while. Which of the two takes fewer bytes depends on other live tensors.
    """
    possible = [copy for copy in copies if copy.arguments[0] in found.new_values]
    if not possible:
        return
    # Start from all windows or none, because one more may cost nothing beside other windows.
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
    """Return the peak of live bytes if the states of the chosen copies become parts of windows."""
    before = list(calls.calls), dict(calls.views)
    for copy in chosen:
        found.extend(calls, copy)
    always = {*found.new_values, *windows(calls, found.new_values)} - calls.views.keys()
    # A new value that is a copy is written directly to the state.
    moved = {call.arguments[1] for call in calls.calls if call.operator is None}
    counted = (found.own | always) - (moved & set(found.new_values.values()))
    peak = LiveBytes.of(calls, counted, found.returned, always).peak()
    calls.calls, calls.views = before
    return peak
