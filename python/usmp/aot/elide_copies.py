"""Copies of parts of tensors that need not be made.

A concat along the outermost axis is written in place: what computes an input writes straight to its
part of the result. A slice of the outermost axis is read in place. The two tensors of such a copy
share memory then, which lives as long as either is in use, so this can cost more than the copy did.
Planning finds out which copies to keep (`usmp.planning.search.stages.CopyStage`); what it begins
with is decided here, by the bytes that live at once.
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
    """A copy of a part of a tensor.

    Parameters
    ----------
    group
        copies of one group copy parts of the same tensors.
    is_elided
        whether the two share memory, so that nothing is copied.
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
    """Let tensors share memory with their copies, and drop these copies.

    Each tensor is written once, by the operator that computes it, so tensors of equal content can
    have one memory for all of their lives. The exceptions are tensors that an operator writes over
    in place; those keep their own. A state may be the start of a concat (see
    `usmp.aot.state_windows`).

    Parameters
    ----------
    calls
        changed in place; its `views` then has the states and those of `produced` that lie in
        another tensor.
    produced
        tensors that calls write and that no one else owns.
    returned
        those that live on after the last call. They do not become views: they are written
        where the caller wants them.
    new_values
        each state that may be the start of a concat, with the tensor that holds its value
        after the run; these tensors are among those returned.
    wanted
        the copies to elide where that is possible, by their positions among the copies; by
        default those that let no more bytes live at once.

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
    found = StateWindows(new_values, own, kept, overwritten)
    # First, since a window does not lie in another tensor itself.
    if wanted is None:
        extend_by_live_bytes(calls, found, [call for call, _ in copies])
    else:
        for index in sorted(wanted):
            found.extend(calls, copies[index][0])
    throughout = windows(calls, new_values)
    kept |= throughout
    if wanted is None:
        _elide_by_live_bytes(calls, copies, own, kept, throughout, overwritten)
    else:
        for index in sorted(wanted):
            _elide(calls, copies[index][0], own - kept, overwritten)
    left = set(calls.calls)
    return [Copy(group, call not in left) for call, group in copies]


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
        # Inputs of one concat may save bytes only together.
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
    """Make the source of a copy a view of its destination, or the other way round, if one of them
    may be; returns which is a view of which."""
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
    """Tensors of which a part is written twice, or that have content before it is written."""
    found: set[tirx.Buffer] = set()
    parts: dict[tirx.Buffer, list[tuple[int, int]]] = {}
    for call in calls.calls:
        for buffer in call.written:
            root, begin = calls.root(buffer)
            end = begin + elements(buffer)
            written = parts.setdefault(root, [])
            if root not in own or any(begin < stop and start < end for start, stop in written):
                found.add(root)
            written.append((begin, end))
    return found
