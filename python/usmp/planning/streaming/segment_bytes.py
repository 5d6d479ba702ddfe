"""The bytes that are live while a segment runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import tirx

from usmp.analysis.buffer_extraction import is_plannable
from usmp.analysis.memory.buffer_size import size_bytes
from usmp.analysis.memory.facts import FunctionFacts
from usmp.analysis.memory.indices.index_values import Values
from usmp.analysis.memory.memories import UNBOUNDED, Memory
from usmp.objects.attributes.annotations import CONSTANT_DATA_ATTR, STATE_TENSOR_ATTR
from usmp.objects.attributes.attribute import Annotation
from usmp.planning.streaming.operator_loop import OperatorLoop
from usmp.planning.streaming.parts import bytes_of_parts
from usmp.planning.streaming.segment import MainOperator, Segment
from usmp.planning.streaming.streamed_main import StreamedMain
from usmp.planning.streaming.timing import Timing
from usmp.tir.nodes import nodes_of

_NO_SCRATCH: tuple[Annotation[Any], ...] = (CONSTANT_DATA_ATTR, STATE_TENSOR_ATTR)
"""Annotations of allocations whose content persists between runs."""


@dataclass(frozen=True)
class Taken:
    """The bytes that operators take.

    Parameters
    ----------
    estimate_bytes
        estimate of the bytes in a plan: scratch, whole rings and tensors that are live through, the
        bytes of tensors from outside that are still to be read, and of results already written.
    live_bytes
        lower bound for all plans, without scratch: the most live bytes after a tick of a segment
        and at its end, or before and after an operator by itself.
    """

    estimate_bytes: int
    live_bytes: int


@dataclass(frozen=True)
class _Use:
    """A memory that operators of a segment use, with its live bytes before and after the segment.

    Parameters
    ----------
    size
        bytes of the memory.
    first, end
        first byte that is read after the segment, and end of the bytes written before it.
    is_inside
        whether only the segment uses it.
    parameters
        by position of an operator that uses it, the parameters that point to its first byte.
    """

    size: int
    first: int
    end: int
    is_inside: bool
    parameters: tuple[tuple[int, tuple[int, ...]], ...]


def segment_bytes(main: StreamedMain, start: int, segment: Segment) -> Taken:
    """Return the bytes that the operators of a segment take.

    Parameters
    ----------
    start
        position of the first operator.
    """
    stop = start + len(segment.operators)
    inside, rings = set(segment.inside), segment.rings
    fixed = sum(rings[m].size_bytes if m in rings else main.sizes[m] for m in inside)
    # The largest scratch is enough, because operators use theirs one after the other.
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
    # Cache the peaks, because they rarely depend on where inputs and outputs are.
    key = "peaks", segment.interleaving, *uses
    outside, live = last.accesses.found.once(key, lambda: _peaks(segment, uses))
    through = main.live_through(start, stop)
    estimate = sum(main.sizes[m] for m in through) + fixed + outside
    always = sum(main.ends.live(memory, start, stop) for memory in through)
    # `live` omits writes through addresses inside of tensors.
    cut = main.ends.cuts[stop]
    return Taken(max(estimate, cut), max(always + live, cut))


def _parameters(segment: Segment, memory: Memory) -> tuple[tuple[int, tuple[int, ...]], ...]:
    return tuple(
        (position, tuple(i for i, m in operator.memories.items() if m.same_as(memory)))
        for position, operator in enumerate(segment.operators)
        if memory in operator.statement.ranges
    )


def operator_bytes(main: StreamedMain, index: int) -> Taken:
    """Return the bytes that an operator by itself takes."""
    statement = main.operators[index].statement
    used = [memory for memory in statement.ranges if memory in main.sizes]
    scratch = _scratch_bytes(main.operators[index], False)
    total = sum(main.sizes[memory] for memory in used) + scratch
    before = [memory for memory in used if main.ranges[memory][0] < index]
    after = [memory for memory in used if main.ranges[memory][1] > index + 1]
    dying = [memory for memory in before if memory not in after]
    results = [memory for memory in after if memory not in before]
    shared = max((main.shared_bytes(index, a, b) for a in dying for b in results), default=0)
    through = main.live_through(index, index + 1)
    live = max(sum(main.ends.live(m, at) for m in (*used, *through)) for at in (index, index + 1))
    return Taken(sum(main.sizes[m] for m in through) + total - shared, live)


def _scratch_bytes(operator: MainOperator, is_streamed: bool) -> int:
    """Return a lower bound of the scratch bytes of an operator."""
    if is_streamed and operator.loop is not None:
        # Cache them, because many segments have this operator.
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
    """Return whether an allocation is scratch: no constant, no state, and not on the stack."""
    return is_plannable(stmt) and not any(annotation.is_on(stmt) for annotation in _NO_SCRATCH)


def _peaks(segment: Segment, uses: Sequence[_Use]) -> tuple[int, int]:
    """Return the most live bytes after a tick, of memories from outside, and of all."""
    interleaving = segment.interleaving
    makers = [_Made.of(segment, index) for index in range(len(segment.operators))]
    outside = np.zeros(interleaving.ticks * interleaving.columns, np.int64)
    live = outside.copy()
    for use in uses:
        of_memory = _live_bytes(segment, makers, use)
        # Accesses through addresses inside of a memory have no known tick.
        live += max(use.end - use.first, 0) if of_memory is None else of_memory
        if not use.is_inside:
            outside += use.size if of_memory is None else of_memory
    return int(outside.max()), int(live.max())


@dataclass(frozen=True, eq=False)
class _Made:
    """The ticks in which an operator computes its parts.

    Parameters
    ----------
    at
        tick of each part.
    next_part
        by tick, the first part that is computed later.
    """

    loop: OperatorLoop
    timing: Timing
    at: Values
    next_part: Values

    @classmethod
    def of(cls, segment: Segment, index: int) -> _Made:
        """Return the ticks of an operator of a segment."""
        loop, timing = segment.operators[index].loop, segment.interleaving.timings[index]
        assert loop is not None
        ticks, width = segment.interleaving.ticks, segment.interleaving.columns
        at = timing.ticks(width)
        return cls(loop, timing, at, np.cumsum(np.bincount(at, minlength=ticks * width)))


def _live_bytes(segment: Segment, makers: Sequence[_Made], use: _Use) -> Values | None:
    """Return the bytes from the first to the last live byte of a memory, at the end of each tick;
    None if an operator that uses the memory is called only with addresses inside of it."""
    size, ticks = use.size, segment.interleaving.ticks * segment.interleaving.columns
    first = np.full(ticks, use.first, np.int64)
    end = np.full(ticks, use.end, np.int64)
    for position, indices in use.parameters:
        making = makers[position]
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
                # After a part is computed, the bytes that the next one reads are live.
                np.minimum(first, needed[making.next_part], out=first)
    live: Values = np.maximum(end - first, 0)
    return live
