"""Copies of parts of tensors that need not be made.

A concat along the outermost axis is written in place: what computes an input writes straight to its
part of the result. A slice of the outermost axis is read in place. The two tensors of such a copy
share memory then, which lives as long as either is in use, so this can cost more than the copy did.
`choose_moves` finds out by planning which copies to keep; what it begins with is decided here, by
the bytes that live at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import accumulate
from math import prod

import tvm
from tvm import tirx

from usmp.relax.main_calls import MainCalls, OperatorCall, View


@dataclass(frozen=True)
class Move:
    """A copy of a part of a tensor.

    Parameters
    ----------
    group: moves of one group copy parts of the same tensors.
    is_elided: whether the two share memory, so that nothing is copied.
    """

    group: int
    is_elided: bool


def elide_moves(
    calls: MainCalls,
    produced: Iterable[tirx.Buffer],
    returned: Iterable[tirx.Buffer],
    wanted: Collection[int] | None = None,
) -> list[Move]:
    """Let tensors share memory with their copies, and drop these copies.

    Each tensor is written once, by the operator that computes it, so tensors of equal content can
    have one memory for all of their lives. The exceptions are tensors that an operator writes over
    in place; those keep their own.

    Parameters
    ----------
    calls: changed in place; its `views` then has those of `produced` that lie in another tensor.
    produced: tensors that calls write and that no one else owns.
    returned: those that live on after the last call. They do not become views: they are written
        where the caller wants them.
    wanted: the moves to elide where that is possible, by their positions among the moves; by
        default those that let no more bytes live at once.

    Returns
    -------
    All moves, in order.
    """
    own, kept = set(produced), set(returned)
    moves = [(call, call.group) for call in calls.calls if call.group is not None]
    overwritten = _overwritten(calls, own)
    if wanted is None:
        _elide_by_live_bytes(calls, moves, own, kept, overwritten)
    else:
        for index in sorted(wanted):
            _elide(calls, moves[index][0], own - kept, overwritten)
    left = set(calls.calls)
    return [Move(group, call not in left) for call, group in moves]


def _elide_by_live_bytes(
    calls: MainCalls,
    moves: list[tuple[OperatorCall, int]],
    own: set[tirx.Buffer],
    kept: set[tirx.Buffer],
    overwritten: set[tirx.Buffer],
) -> None:
    groups: dict[int, list[OperatorCall]] = {}
    for call, number in moves:
        groups.setdefault(number, []).append(call)
    peak = _peak_bytes(calls, own, kept)
    for group in groups.values():
        # Inputs of one concat may only pay off together.
        for together in [group, *([move] for move in group if len(group) > 1)]:
            before = list(calls.calls), dict(calls.views)
            for move in together:
                _elide(calls, move, own - kept, overwritten)
            now = _peak_bytes(calls, own, kept)
            if now > peak:
                calls.calls, calls.views = before
            peak = min(now, peak)


def _elide(
    calls: MainCalls, move: OperatorCall, own: set[tirx.Buffer], overwritten: set[tirx.Buffer]
) -> None:
    """Let the source or the destination of a copy lie in the other, if one of them may."""
    (source, begin), (target, place) = (calls.root(buffer) for buffer in move.arguments)
    if move not in calls.calls or source.same_as(target) or {source, target} & overwritten:
        return
    moved = _elements(move.arguments[0])
    if source in own and _elements(source) == moved:
        calls.views[source] = View(target, place)
    elif target in own and _elements(target) == moved:
        calls.views[target] = View(source, begin)
    else:
        return
    calls.calls.remove(move)


def _overwritten(calls: MainCalls, own: set[tirx.Buffer]) -> set[tirx.Buffer]:
    """Tensors of which a part is written twice, or that have content before it is written."""
    found: set[tirx.Buffer] = set()
    parts: dict[tirx.Buffer, list[tuple[int, int]]] = {}
    for call in calls.calls:
        for buffer in call.written:
            root, begin = calls.root(buffer)
            end = begin + _elements(buffer)
            written = parts.setdefault(root, [])
            if root not in own or any(begin < stop and start < end for start, stop in written):
                found.add(root)
            written.append((begin, end))
    return found


def _peak_bytes(calls: MainCalls, own: set[tirx.Buffer], kept: set[tirx.Buffer]) -> int:
    """The most bytes of the tensors in `own` that live through one call."""
    spans: dict[tirx.Buffer, tuple[int, int]] = {}
    for position, call in enumerate(calls.calls):
        for root in {calls.root(buffer)[0] for buffer in call.arguments} & own:
            last = len(calls.calls) - 1 if root in kept else position
            spans[root] = (spans.get(root, (position, 0))[0], last)
    changes = [0] * (len(calls.calls) + 1)
    for root, (first, last) in spans.items():
        size_bytes = _elements(root) * int(tvm.DataType(str(root.dtype)).itemsize)
        changes[first] += size_bytes
        changes[last + 1] -= size_bytes
    return max(accumulate(changes))


def _elements(buffer: tirx.Buffer) -> int:
    return prod(int(extent) for extent in buffer.shape)
