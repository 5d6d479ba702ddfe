"""Checks that no streamed input or output is materialized, and the error if one has to be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NoReturn

from tvm import tirx

from usmp.analysis.memory.memories import Memory
from usmp.planning.streaming.reading import Reading
from usmp.planning.streaming.segment import Segment
from usmp.planning.streaming.streamed_main import StreamedMain
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call

_LARGEST_SHARE = 2
"""A ring has at most 1/2 of its streamed tensor's bytes, because callbacks cost time."""


def uses_by_rows(main: StreamedMain, index: int) -> list[Memory]:
    """Return the streamed tensors that an operator uses. If there is one, it needs a segment."""
    return [memory for memory in main.by_rows if index in main.users[memory]]


def keeps_no_whole(main: StreamedMain, start: int, segment: Segment) -> bool:
    """Return whether a segment has at most half of each streamed tensor in memory at a time.

    Parameters
    ----------
    start
        position of the first operator of the segment.
    """
    stop = start + len(segment.operators)
    return all(
        _is_small(main, memory, segment)
        for memory in main.by_rows
        if any(start <= user < stop for user in main.users[memory])
    )


def _is_small(main: StreamedMain, memory: Memory, segment: Segment) -> bool:
    ring = segment.rings.get(memory)
    return ring is not None and _LARGEST_SHARE * ring.size_bytes <= main.sizes[memory]


def refuse_rows(main: StreamedMain) -> NoReturn:
    """Refuse a module in which no choice of segments keeps all streamed tensors small.

    Raises
    ------
    ValueError
        always; the message names the operator that needs a whole tensor, and the reason.
    """
    reasons = [
        f"{text} cannot be given or taken by rows: {reason}"
        for memory, text in main.by_rows.items()
        if (reason := _why_whole(main, memory)) is not None
    ]
    names = " and ".join(main.by_rows.values())
    reason = reasons[0] if reasons else f"{names} cannot all be given and taken by rows together"
    raise ValueError(
        f"{reason}; leave it out of tir.usmp.stream_inputs and tir.usmp.stream_outputs "
        "(--stream-input, --stream-output)"
    )


def _why_whole(main: StreamedMain, memory: Memory) -> str | None:
    """Return why a tensor cannot be streamed through a ring of its rows; None if it can."""
    users = main.users[memory]
    start, stop = users[0], users[-1] + 1
    for index in range(start, stop):
        if main.operators[index].loop is None:
            if _copies(main, index):
                return "it is copied as a whole, to an output or to a window that is kept"
            return f"{_named(main, index)}, {_uses(index, users)}, has no loop over rows"
    maker, *readers = users
    for index in users:
        arguments = main.operators[index].statement.arguments
        if any(a.memory.same_as(memory) and a.byte_offset != 0 for a in arguments):
            return f"{_named(main, index)} uses only a part of it, not from its start"
    reads = [r for i in readers for r in main.readings[i] if r.tensor.same_as(memory)]
    if {read.reader for read in reads} != set(readers) or any(
        read.maker.step_bytes is None for read in reads
    ):
        return f"{_named(main, maker)} does not write it one row after the other"
    for index in range(start + 1, stop):
        if main.apart[index] > start:
            return (
                f"{_named(main, index)}, {_uses(index, users)}, cannot run interleaved with "
                f"{main.operators[main.apart[index] - 1].statement.callee}"
            )
    for read in reads:
        if read.needs_all_first:
            return f"{_named(main, read.reader)} needs all rows of it for its first result"
    segment = main.segment(start, stop)
    if segment is None:
        return f"{_named(main, stop - 1)} cannot run interleaved with what is before it"
    return None if _is_small(main, memory, segment) else _kept(main, memory, segment, reads)


def _kept(main: StreamedMain, memory: Memory, segment: Segment, reads: Sequence[Reading]) -> str:
    """Return the message that too many rows of a tensor have to be kept."""
    ring = segment.rings.get(memory)
    kept = main.sizes[memory] if ring is None else ring.size_bytes
    readers = " and ".join(_operators(main, reads))
    apart = "read it at different times" if len(reads) > 1 else "reads so many rows at once"
    return (
        f"{kept} of its {main.sizes[memory]} bytes have to be kept, more than half, since "
        f"{readers} {apart}"
    )


def _operators(main: StreamedMain, reads: Sequence[Reading]) -> Iterator[str]:
    for index in dict.fromkeys(read.reader for read in reads):
        yield str(main.operators[index].statement.callee)


def _copies(main: StreamedMain, index: int) -> bool:
    """Return whether an operator copies a whole tensor."""
    func = main.operators[index].func
    calls = [] if func is None else map(intrinsic_call, nodes_of(func.body, tirx.AttrStmt))
    return any(call is not None and "tvmgen_copy" in str(call.args[0]) for call in calls)


def _named(main: StreamedMain, index: int) -> str:
    callee = main.operators[index].statement.callee
    return "a statement" if callee is None else f"operator {callee}"


def _uses(index: int, users: Sequence[int]) -> str:
    return "which uses it" if index in users else "which runs between those that use it"
