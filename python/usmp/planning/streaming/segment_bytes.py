"""How many bytes are live while a segment runs?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import tirx

from usmp.analysis.buffer_extraction import is_plannable
from usmp.analysis.memory.buffer_size import size_bytes
from usmp.analysis.memory.facts import FunctionFacts
from usmp.analysis.memory.index_values import Values
from usmp.analysis.memory.memories import UNBOUNDED, Memory
from usmp.objects.annotations import CONSTANT_DATA_ATTR, STATE_TENSOR_ATTR
from usmp.objects.attribute import Annotation
from usmp.planning.streaming.operator_loop import OperatorLoop
from usmp.planning.streaming.parts import bytes_of_parts
from usmp.planning.streaming.segment import MainOperator, Segment
from usmp.planning.streaming.streamed_main import StreamedMain
from usmp.planning.streaming.timing import Timing
from usmp.tir.nodes import nodes_of

_NO_SCRATCH: tuple[Annotation[Any], ...] = (CONSTANT_DATA_ATTR, STATE_TENSOR_ATTR)
"""Annotations of what is kept from one run to the next."""


@dataclass(frozen=True)
class Taken:
    """What operators take.

    Parameters
    ----------
    estimate_bytes
        about what a plan needs: rings count as a whole, tensors from outside by what is still to
        be read, and results by what is written.
    live_bytes
        the most bytes that are live after a part is made, which includes the end of the last
        operator, but not the start of the first; no plan has less.
    """

    estimate_bytes: int
    live_bytes: int


@dataclass(frozen=True)
class _Use:
    """A memory that operators of a segment use, and what is live of it around the segment.

    Parameters
    ----------
    size
        its bytes.
    first, end
        what is still read behind the segment, and what is written before it.
    is_inside
        whether nothing else uses it.
    parameters
        by position of an operator that uses it, those that point to its first byte.
    """

    size: int
    first: int
    end: int
    is_inside: bool
    parameters: tuple[tuple[int, tuple[int, ...]], ...]


def segment_bytes(main: StreamedMain, start: int, segment: Segment) -> Taken:
    """What the operators of a segment take.

    Parameters
    ----------
    start
        the first of them.
    """
    stop = start + len(segment.operators)
    inside, rings = set(segment.inside), segment.rings
    fixed = sum(rings[m].size_bytes if m in rings else main.sizes[m] for m in inside)
    # Operators use theirs one after the other.
    fixed += max(_scratch_bytes(operator, True) for operator in segment.operators)
    used = dict.fromkeys(m for o in segment.operators for m in o.statement.ranges)
    uses = [
        _Use(
            *(main.sizes[m], main.ends.first(m, stop), main.ends.end(m, start), m in inside),
            _parameters(segment, m),
        )
        for m in used
        if m in main.sizes
    ]
    last = segment.operators[-1].loop
    assert last is not None
    # Those of most segments are the same wherever inputs and outputs are.
    what = "peaks", segment.interleaving, *uses
    outside, live = last.accesses.found.once(what, lambda: _peaks(segment, uses))
    through = main.live_through(start, stop)
    estimate = sum(main.sizes[m] for m in through) + fixed + outside
    always = sum(main.ends.live(memory, start, stop) for memory in through)
    # `live` omits what is written of tensors that operators are called with addresses inside of.
    cut = main.ends.cuts[stop]
    return Taken(max(estimate, cut), max(always + live, cut))


def _parameters(segment: Segment, memory: Memory) -> tuple[tuple[int, tuple[int, ...]], ...]:
    return tuple(
        (position, tuple(i for i, m in operator.memories.items() if m.same_as(memory)))
        for position, operator in enumerate(segment.operators)
        if memory in operator.statement.ranges
    )


def operator_bytes(main: StreamedMain, index: int) -> Taken:
    """What an operator by itself takes."""
    statement = main.operators[index].statement
    used = [memory for memory in statement.ranges if memory in main.sizes]
    scratch = _scratch_bytes(main.operators[index], False)
    total = sum(main.sizes[memory] for memory in used) + scratch
    before = [memory for memory in used if main.ranges[memory][0] < index]
    after = [memory for memory in used if main.ranges[memory][1] > index + 1]
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
        return operator.loop.facts.once("greatest_scratch", greatest_scratch)
    scratch = [
        (size_bytes(a.buffer), positions)
        for a, positions in operator.statement.scratch
        if _is_scratch(a)
    ]
    return max(
        (sum(n for n, (first, stop) in scratch if first <= at < stop) for _, (at, _) in scratch),
        default=0,
    )


def greatest_scratch(facts: FunctionFacts) -> int:
    """Return the bytes of the largest allocation of a PrimFunc in the workspace."""
    allocations = nodes_of(facts.func.body, tirx.AllocBuffer)
    planned = [a for a in allocations if _is_scratch(a) and a not in facts.liveness.unplannable]
    return max((size_bytes(a.buffer) for a in planned), default=0)


def _is_scratch(stmt: tirx.AllocBuffer) -> bool:
    """Whether it is in the workspace: no constant, no state, and not on the stack."""
    return is_plannable(stmt) and not any(annotation.is_on(stmt) for annotation in _NO_SCRATCH)


def _peaks(segment: Segment, uses: Sequence[_Use]) -> tuple[int, int]:
    """The most bytes of memories from outside, and of all, that are there when a part is made."""
    interleaving = segment.interleaving
    made = [_Made.of(segment, index) for index in range(len(segment.operators))]
    outside = np.zeros(interleaving.ticks * interleaving.columns, np.int64)
    live = outside.copy()
    for use in uses:
        of_memory = _live_bytes(segment, made, use)
        # Of parts that operators are called with it is not known when they are used.
        live += max(use.end - use.first, 0) if of_memory is None else of_memory
        if not use.is_inside:
            outside += use.size if of_memory is None else of_memory
    return int(outside.max()), int(live.max())


@dataclass(frozen=True, eq=False)
class _Made:
    """When an operator makes its parts.

    Parameters
    ----------
    at
        by part, the tick.
    next_part
        by tick, the first part that is made later.
    """

    loop: OperatorLoop
    timing: Timing
    at: Values
    next_part: Values

    @classmethod
    def of(cls, segment: Segment, index: int) -> _Made:
        """Of an operator of a segment."""
        loop, timing = segment.operators[index].loop, segment.interleaving.timings[index]
        assert loop is not None
        ticks, width = segment.interleaving.ticks, segment.interleaving.columns
        at = timing.ticks(width)
        return cls(loop, timing, at, np.cumsum(np.bincount(at, minlength=ticks * width)))


def _live_bytes(segment: Segment, made: Sequence[_Made], use: _Use) -> Values | None:
    """Bytes of a memory that are live when each tick ends, by its ends only; None if operators are
    only called with parts of it."""
    size, ticks = use.size, segment.interleaving.ticks * segment.interleaving.columns
    first = np.full(ticks, use.first, np.int64)
    end = np.full(ticks, use.end, np.int64)
    for position, indices in use.parameters:
        making = made[position]
        loop, timing = making.loop, making.timing
        if not indices:
            return None
        if any(i in loop.unknown for i in indices):
            return np.full(ticks, size, np.int64)
        for index in indices:
            written = bytes_of_parts(loop, timing, index, True)
            if written is not None:
                done = np.zeros(ticks, np.int64)
                done[making.at] = np.minimum(np.maximum(written.ends, 0), size)
                np.maximum(end, np.maximum.accumulate(done), out=end)
            read = bytes_of_parts(loop, timing, index, False)
            if read is not None:
                begins = read.begins
                needed = np.append(np.where(begins >= UNBOUNDED, size, begins), size)
                # When a part is made, what the next one reads is needed.
                np.minimum(first, needed[making.next_part], out=first)
    live: Values = np.maximum(end - first, 0)
    return live
