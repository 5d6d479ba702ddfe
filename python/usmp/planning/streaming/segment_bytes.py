"""How many bytes are live while a segment runs?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tvm import tirx

from usmp.analysis.buffer_extraction import is_plannable
from usmp.analysis.memory.buffer_size import size_bytes
from usmp.analysis.memory.index_values import Values
from usmp.analysis.memory.memories import Memory
from usmp.analysis.memory.traced_access import UNBOUNDED
from usmp.objects.attributes import CONSTANT_DATA_ATTR
from usmp.planning.streaming.interleaving import Timing
from usmp.planning.streaming.streamed_main import MainOperator, StreamedMain
from usmp.tir.nodes import nodes_of


def segment_bytes(main: StreamedMain, start: int, stop: int) -> int:
    """The most bytes that are live when a tick of a segment ends, or that an operator needs.

    Rings count as a whole, tensors from outside by what is still to be read, and results by what is
    written.

    Parameters
    ----------
    start, stop
        the first operator of the segment, and the one after its last; one operator alone is not
        streamed.
    """
    segment = main.segment(start, stop) if stop > start + 1 else None
    operators = main.operators[start:stop]
    used = {m for operator in operators for m in operator.statement.spans if m in main.sizes}
    through = main.live_through(start, stop)
    if segment is None:
        timings = [None if o.loop is None else Timing(0, 1, 1, o.loop.steps) for o in operators]
        ticks = 1 if timings[0] is None else timings[0].runs
        fixed = 0
    else:
        timings = list(segment.interleaving.timings)
        ticks = segment.interleaving.ticks
        rings = segment.interleaving.rings
        fixed = sum(rings[m].size_bytes if m in rings else main.sizes[m] for m in segment.inside)
        used -= set(segment.inside)
    # Operators use theirs one after the other.
    fixed += max(_scratch_bytes(operator, segment is not None) for operator in operators)
    live = np.zeros(ticks, np.int64)
    for memory in used:
        live += _live_bytes(main, operators, timings, memory, start, stop, ticks)
    return through + fixed + int(live.max())


def _scratch_bytes(operator: MainOperator, is_streamed: bool) -> int:
    """Bytes that an operator at least needs beside what it is called with."""
    if is_streamed and operator.loop is not None:
        allocations = nodes_of(operator.loop.func.body, tirx.AllocBuffer)
        return max((size_bytes(a.buffer) for a in allocations if _is_scratch(a)), default=0)
    scratch = [
        (size_bytes(a.buffer), span) for a, span in operator.statement.scratch if _is_scratch(a)
    ]
    return max(
        (sum(n for n, (first, stop) in scratch if first <= at < stop) for _, (at, _) in scratch),
        default=0,
    )


def _is_scratch(stmt: tirx.AllocBuffer) -> bool:
    """Whether it is in the workspace, not a constant or on the stack."""
    return is_plannable(stmt) and CONSTANT_DATA_ATTR not in stmt.annotations


def _live_bytes(
    main: StreamedMain,
    operators: Sequence[MainOperator],
    timings: Sequence[Timing | None],
    memory: Memory,
    start: int,
    stop: int,
    ticks: int,
) -> Values:
    """Bytes of a memory that are live when each tick ends, by its ends only."""
    size = main.sizes[memory]
    first = np.full(ticks, size, np.int64)
    end = np.zeros(ticks, np.int64)
    since, until = main.spans[memory]
    if since < start:
        end[:] = size
    if until > stop:
        first[:] = 0
    for operator, timing in zip(operators, timings, strict=True):
        if memory not in operator.statement.spans:
            continue
        loop = operator.loop
        indices = [i for i, m in operator.memories.items() if m.same_as(memory)]
        if timing is None or loop is None or not indices:
            return np.full(ticks, size, np.int64)
        if any(i in loop.unknown for i in indices):
            return np.full(ticks, size, np.int64)
        for index in indices:
            steps = np.minimum((np.arange(timing.runs) + 1) * timing.number, loop.steps) - 1
            at = timing.start + timing.period * np.arange(timing.runs)
            written = loop.writes.get(index)
            if written is not None:
                reached = np.clip(np.maximum.accumulate(written.end), 0, size)[steps]
                done = np.zeros(ticks, np.int64)
                done[at] = reached
                np.maximum(end, np.maximum.accumulate(done), out=end)
            read = loop.reads.get(index)
            if read is not None:
                needed = np.minimum.accumulate(read.first[::-1])[::-1]
                needed = np.append(np.where(needed >= UNBOUNDED, size, needed), size)
                still = np.full(ticks, size, np.int64)
                # After its run, what the next one reads is needed; before it, what this one reads.
                still[at] = needed[steps + 1]
                before = np.append(np.where(np.arange(ticks) == at[0] - 1, needed[0], size), size)
                np.minimum(still, before[:-1], out=still)
                still = np.minimum.accumulate(still[::-1])[::-1]
                np.minimum(first, still, out=first)
    live: Values = np.maximum(end - first, 0)
    return live
