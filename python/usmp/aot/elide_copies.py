"""Elision of copies between tensors and their parts.

A concat along the outermost axis is written in place: operators write its inputs directly to their
parts of the result. A slice of the outermost axis is read in place. Both tensors of an elided copy
share memory, which is live as long as either is in use, so eliding can cost more bytes than the
copy. Planning decides which copies to keep (`usmp.planning.search.stages.CopyStage`). The initial
choice is made here, by the peak of live bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from tvm import tirx

from usmp.aot.live_tensors import LiveBytes
from usmp.aot.main_calls import MainCall, MainCalls, View, elements
from usmp.aot.state_windows import StateWindows, extend_by_live_bytes, windows


@dataclass(frozen=True)
class Copy:
    """A copy between a tensor and a part of another one.

    Parameters
    ----------
    group
        number of the group; copies of one group copy parts of one tensor.
    is_elided
        whether both tensors share memory, so that nothing is copied.
    """

    group: int
    is_elided: bool


def elide_copies(
    calls: MainCalls,
    produced: Iterable[tirx.Buffer],
    returned: Iterable[tirx.Buffer],
    new_values: Mapping[tirx.Buffer, tirx.Buffer],
    wanted: Collection[int] | None = None,
) -> list[Copy]:
    """Let tensors share memory with their copies, and remove these copies.

    Each tensor is written once, so tensors of equal content can share memory. Tensors that an
    operator overwrites in place are exceptions, and keep their own memory. A state may be the start
    of a concat (see `usmp.aot.state_windows`).

    Parameters
    ----------
    calls
        the calls, changed in place; states and tensors of `produced` that became parts of other
        tensors are added to `views`.
    produced
        tensors that calls write and that have no other owner.
    returned
        tensors that stay live after the last call. They do not become views, because they are
        written to memory of the caller.
    new_values
        state that may be the start of a concat -> tensor with its value after the run, which is in
        `returned`.
    wanted
        positions of the copies to elide where possible; by default those that do not raise the peak
        of live bytes.

    Returns
    -------
    list[Copy]
        All copies, in order.
    """
    own, kept = set(produced), set(returned)
    copies = [(call, call.group) for call in calls.calls if call.group is not None]
    if not copies:
        return []
    overwritten = _overwritten(calls, own)
    state_windows = StateWindows(new_values, own, kept, overwritten)
    # Windows first, because a window must not become a part of another tensor.
    if wanted is None:
        extend_by_live_bytes(calls, state_windows, [call for call, _ in copies])
    else:
        for index in sorted(wanted):
            state_windows.extend(calls, copies[index][0])
    throughout = windows(calls, new_values)
    kept |= throughout
    if wanted is None:
        _elide_by_live_bytes(calls, copies, own, kept, throughout, overwritten)
    else:
        for index in sorted(wanted):
            _elide(calls, copies[index][0], own - kept, overwritten)
    remaining = set(calls.calls)
    return [Copy(group, call not in remaining) for call, group in copies]


def _elide_by_live_bytes(
    calls: MainCalls,
    copies: list[tuple[MainCall, int]],
    own: set[tirx.Buffer],
    kept: set[tirx.Buffer],
    throughout: set[tirx.Buffer],
    overwritten: set[tirx.Buffer],
) -> None:
    groups: dict[int, list[MainCall]] = {}
    for call, number in copies:
        groups.setdefault(number, []).append(call)
    positions = {call: position for position, call in enumerate(calls.calls)}
    live = LiveBytes.of(calls, own, kept, throughout)
    peak = live.peak()
    for group in groups.values():
        # Eliding may save bytes only if all inputs of a concat are elided.
        for together in [group, *([copy] for copy in group if len(group) > 1)]:
            before = list(calls.calls), dict(calls.views)
            now = live
            for copy in together:
                merged = _elide(calls, copy, own - kept, overwritten)
                if merged is not None:
                    now = now.merged(*merged, positions[copy])
            if now.peak() > peak:
                calls.calls, calls.views = before
            else:
                live, peak = now, now.peak()


def _elide(
    calls: MainCalls, copy: MainCall, own: set[tirx.Buffer], overwritten: set[tirx.Buffer]
) -> tuple[tirx.Buffer, tirx.Buffer] | None:
    """Make the source of a copy a view of its destination, or vice versa, if possible. Return the
    view and its whole, or None."""
    (source, begin), (target, offset) = (calls.root(buffer) for buffer in copy.arguments)
    if copy not in calls.calls or source.same_as(target) or {source, target} & overwritten:
        return None
    moved = elements(copy.arguments[0])
    if source in own and elements(source) == moved:
        inner, view = source, View(target, offset)
    elif target in own and elements(target) == moved:
        inner, view = target, View(source, begin)
    else:
        return None
    calls.views[inner] = view
    calls.calls.remove(copy)
    return inner, view.whole


def _overwritten(calls: MainCalls, own: set[tirx.Buffer]) -> set[tirx.Buffer]:
    """Return tensors with a part that is written twice, and written tensors that are not in `own`,
    because they have content before."""
    overwritten: set[tirx.Buffer] = set()
    parts: dict[tirx.Buffer, list[tuple[int, int]]] = {}
    for call in calls.calls:
        for buffer in call.written:
            root, begin = calls.root(buffer)
            end = begin + elements(buffer)
            written = parts.setdefault(root, [])
            if root not in own or any(begin < stop and start < end for start, stop in written):
                overwritten.add(root)
            written.append((begin, end))
    return overwritten
