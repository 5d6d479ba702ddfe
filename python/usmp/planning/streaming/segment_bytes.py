"""How many bytes are live while a segment runs?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import tirx

from usmp.analysis.buffer_extraction import is_plannable
from usmp.analysis.memory.buffer_size import size_bytes
from usmp.analysis.memory.facts import FunctionFacts
from usmp.analysis.memory.index_values import Values
from usmp.analysis.memory.memories import Memory
from usmp.analysis.memory.traced_access import UNBOUNDED
from usmp.objects.attributes import CONSTANT_DATA_ATTR
from usmp.planning.streaming.by_columns import Parts
from usmp.planning.streaming.interleaving import Columns
from usmp.planning.streaming.streamed_main import MainOperator, Segment, StreamedMain
from usmp.tir.nodes import nodes_of


@dataclass(frozen=True)
class Taken:
    """What operators take.

    Parameters
    ----------
    estimate_bytes
        about what a plan needs: rings count as a whole, tensors from outside by what is still to
        be read, and results by what is written.
    live_bytes
        the most bytes that are live when a part is made; no plan has less.
    """

    estimate_bytes: int
    live_bytes: int


def segment_bytes(main: StreamedMain, start: int, segment: Segment) -> Taken:
    """What the operators of a segment take.

    Parameters
    ----------
    start
        the first of them.
    """
    stop = start + len(segment.operators)
    interleaving = segment.interleaving
    inside, rings = set(segment.inside), interleaving.rings
    fixed = sum(rings[m].size_bytes if m in rings else main.sizes[m] for m in inside)
    # Operators use theirs one after the other.
    fixed += max(_scratch_bytes(operator, True) for operator in segment.operators)
    outside = np.zeros(interleaving.ticks * interleaving.columns, np.int64)
    live = outside.copy()
    used = dict.fromkeys(m for o in segment.operators for m in o.statement.spans)
    for memory in used:
        if memory in main.sizes:
            of_memory = _live_bytes(main, segment, memory, start, stop, len(live))
            # Of parts that operators are called with it is not known when they are used.
            live += main.ends.live(memory, start, stop) if of_memory is None else of_memory
            if memory not in inside:
                outside += main.sizes[memory] if of_memory is None else of_memory
    through = main.live_through(start, stop)
    estimate = sum(main.sizes[m] for m in through) + fixed + int(outside.max())
    always = sum(main.ends.live(memory, start, stop) for memory in through)
    return Taken(estimate, always + int(live.max()))


def operator_bytes(main: StreamedMain, index: int) -> Taken:
    """What an operator by itself takes."""
    statement = main.operators[index].statement
    used = [memory for memory in statement.spans if memory in main.sizes]
    scratch = _scratch_bytes(main.operators[index], False)
    total = sum(main.sizes[memory] for memory in used) + scratch
    before = [memory for memory in used if main.spans[memory][0] < index]
    after = [memory for memory in used if main.spans[memory][1] > index + 1]
    dying = [memory for memory in before if memory not in after]
    made = [memory for memory in after if memory not in before]
    shared = max((main.shared_bytes(index, a, b) for a in dying for b in made), default=0)
    through = main.live_through(index, index + 1)
    live = max(sum(main.ends.live(m, at) for m in (*used, *through)) for at in (index, index + 1))
    return Taken(sum(main.sizes[m] for m in through) + total - shared, live)


def _scratch_bytes(operator: MainOperator, is_streamed: bool) -> int:
    """Bytes that an operator at least needs beside what it is called with."""
    if is_streamed and operator.loop is not None:
        # Of each operator many segments ask.
        return operator.loop.facts.once("greatest_scratch", _greatest_scratch)
    scratch = [
        (size_bytes(a.buffer), span) for a, span in operator.statement.scratch if _is_scratch(a)
    ]
    return max(
        (sum(n for n, (first, stop) in scratch if first <= at < stop) for _, (at, _) in scratch),
        default=0,
    )


def _greatest_scratch(facts: FunctionFacts) -> int:
    """Bytes of the largest allocation."""
    allocations = nodes_of(facts.func.body, tirx.AllocBuffer)
    return max((size_bytes(a.buffer) for a in allocations if _is_scratch(a)), default=0)


def _is_scratch(stmt: tirx.AllocBuffer) -> bool:
    """Whether it is in the workspace, not a constant or on the stack."""
    return is_plannable(stmt) and CONSTANT_DATA_ATTR not in stmt.annotations


def _live_bytes(
    main: StreamedMain, segment: Segment, memory: Memory, start: int, stop: int, ticks: int
) -> Values | None:
    """Bytes of a memory that are live when each tick ends, by its ends only; None if operators are
    only called with parts of it."""
    size = main.sizes[memory]
    first = np.full(ticks, main.ends.first(memory, stop), np.int64)
    end = np.full(ticks, main.ends.end(memory, start), np.int64)
    interleaving = segment.interleaving
    for operator, timing in zip(segment.operators, interleaving.timings, strict=True):
        if memory not in operator.statement.spans:
            continue
        loop = operator.loop
        assert loop is not None
        indices = [i for i, m in operator.memories.items() if m.same_as(memory)]
        if not indices:
            return None
        if any(i in loop.unknown for i in indices):
            return np.full(ticks, size, np.int64)
        parts = Parts.as_timed(loop, timing)
        at = parts.ticks(timing.columns or Columns(0, 1, 1, 1), interleaving.columns)
        for index in indices:
            written = parts.bytes_of(index, True)
            if written is not None:
                done = np.zeros(ticks, np.int64)
                done[at] = np.clip(np.maximum.accumulate(written.end), 0, size)
                np.maximum(end, np.maximum.accumulate(done), out=end)
            read = parts.bytes_of(index, False)
            if read is not None:
                needed = np.minimum.accumulate(read.first[::-1])[::-1]
                needed = np.append(np.where(needed >= UNBOUNDED, size, needed), size)
                # When a part is made, what the next one reads is needed.
                next_part = np.searchsorted(at, np.arange(ticks), side="right")
                np.minimum(first, needed[next_part], out=first)
    live: Values = np.maximum(end - first, 0)
    return live
