"""Safe distances: bytes by which an output must start below an input of the same operator.

An operator that reads its input in order may write its output over bytes that it has read. The
output x may start d bytes below the input y if each byte of x is written after the last access to y
at the same address:

    D(y, x) = max of  end of the bytes written by w - first byte accessed by a
              over all writes w of x and accesses a of y such that w runs before a

Every distance of at least D is safe. An access is a load or a store, because a store to y after w
would destroy bytes that w wrote. A distance of 0 permits the same address; with a distance of the
size of x, x and y share no byte. Shapes are static, so first and end are computed for every
iteration of the loops that w and a share (see `accessed_bytes`). The maximum is taken in the order
of the iterations.

See RFC 0009 of this repository. P. Blacker et al., "Diagonal memory optimization", 2020, derive
such distances by hand for convolutions.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from operator import itemgetter
from typing import NamedTuple

from tvm import tirx

from usmp.analysis.memory.buffer_size import has_static_size, size_bytes
from usmp.analysis.memory.distances.accessed_bytes import greatest_difference
from usmp.analysis.memory.distances.equal_traces import NumberedTrace, numbered_trace
from usmp.analysis.memory.distances.kept_bytes import AccessedBytes, KeptBytes, values_of
from usmp.analysis.memory.distances.pair_distance import PairDistance, in_order, limited
from usmp.analysis.memory.indices.index_values import MOST_VALUES, NotKnown
from usmp.analysis.memory.indices.iterations import TracedLoop
from usmp.analysis.memory.memories import UNBOUNDED, Memory
from usmp.analysis.memory.points_to import PointsTo
from usmp.analysis.memory.stated_kernel import StatedKernel
from usmp.analysis.memory.traced_access import (
    CalleeReach,
    MemoryTrace,
    Reach,
    TracedAccess,
    TracedStatement,
)
from usmp.support.found import Found
from usmp.support.not_copied import NotCopied
from usmp.support.tvm_errors import report_faults
from usmp.tir.identity import identity

_MOST_PAIRS = 10000
"""Most pairs of accesses of two memories to compare; with more, the distance is unbounded."""

_MOST_COMPARED = 1 << 25
"""Most iterations to compare for two memories, over all pairs of their accesses."""

DEEPEST_CALLS = 50
"""Longest chain of nested calls in which accesses of callees are compared."""


class _Group(NamedTuple):
    """The accesses to a memory in one outermost loop or statement, with their first byte, and the
    writes with their end, over all iterations."""

    statement: object
    order: int
    accesses: list[tuple[int, TracedAccess]]
    writes: list[tuple[int, TracedAccess]]


class Decision(NamedTuple):
    """The pair of accesses with the largest distance, which is the distance of two memories. The
    accesses are None if no write precedes an access, or if pairs are unknown or too many."""

    compared: PairDistance
    write: TracedAccess | None = None
    access: TracedAccess | None = None


class SafeOverlap(NotCopied):
    """The safe distances between the memories of a PrimFunc: its parameters, and the AllocBuffers
    in it and in its callees.

    Parameters
    ----------
    name
        name of the PrimFunc.
    func
        the PrimFunc.
    points
        the memories that its variables point to.
    trace
        its accesses.
    callees
        the safe distances of its callees, by name, and of kernels, by their keys.
    accessed
        a cache of the bytes of accesses, shared with other PrimFuncs.
    shared
        a cache of facts about traces, shared with other PrimFuncs.
    """

    _owns = "facts about the statements of one PrimFunc, by their addresses in this process"
    _instead = "copy the PrimFunc, and compute it again"

    def __init__(
        self,
        name: str,
        func: tirx.PrimFunc,
        points: PointsTo,
        trace: MemoryTrace,
        callees: Mapping[str, SafeOverlap | StatedKernel],
        accessed: KeptBytes,
        shared: Found,
    ) -> None:
        self.name = name
        self.func = func
        self.points = points
        self.trace = trace
        self.callees = callees
        self.height: int = max((callee.height for callee in callees.values()), default=-1) + 1
        """The length of the longest chain of nested calls below this PrimFunc."""
        self._accessed = accessed
        self._shared = shared
        self._distances: dict[tuple[Memory, Memory], int] = {}
        self._sizes_of_memories: dict[Memory, int] = {}
        self._groups: dict[Memory, list[_Group]] = {}
        self._traced = {identity(memory): memory for memory in trace.accesses}
        self._sizes: dict[tuple[TracedAccess, int], int] = {}
        """The number of values of each result of `accessed_bytes`, cached or not."""
        self._found_for_now: dict[tuple[TracedAccess, int], AccessedBytes] = {}
        """A cache for the current pair of memories, also of arrays that are too large to keep."""

    def distance(self, dying: Memory, written: Memory) -> int:
        """Return the fewest bytes by which `written` must start below `dying` to share bytes.

        0 permits the same address; with the size of `written`, the two memories share no byte.

        Raises
        ------
        ValueError
            the size of `written` is unknown.
        """
        dying, written = self._in_trace(dying), self._in_trace(written)
        size_bytes = self._size_bytes(written)
        if self._over_groups(dying, written).compared.distance >= size_bytes:
            return max(0, size_bytes)
        return max(0, min(self.relative_distance(dying, written), size_bytes))

    def relative_distance(self, dying: Memory, written: Memory) -> int:
        """Return the distance, not clamped to [0, size]: negative if `written` may start above
        `dying`, `UNBOUNDED` if unknown, and `-UNBOUNDED` if no write precedes an access."""
        pair = dying, written = self._in_trace(dying), self._in_trace(written)
        if pair not in self._distances:
            self._distances[pair] = self.numbered.once(
                "distance", pair, lambda: self.decision(dying, written).compared.distance
            )
        return self._distances[pair]

    def _in_trace(self, memory: Memory) -> Memory:
        """Return the Python object of a memory in the trace, because maps find it without a slow
        comparison by TVM; `memory` itself if it has no access."""
        return self._traced.get(identity(memory), memory)

    @cached_property
    def numbered(self) -> NumberedTrace:
        """The numbered trace, which shares results between PrimFuncs of equal traces."""

        def called(name: str, memory: Memory | None) -> Hashable:
            callee = self.callees[name]
            if isinstance(callee, StatedKernel):
                return callee, memory
            equal, numbers = callee.numbered.equal, callee.numbered.memories
            return equal, callee.height, None if memory is None else numbers.get(memory)

        return numbered_trace(self.func.params, self.trace, called, self._shared)

    def decision(self, dying: Memory, written: Memory) -> Decision:
        """Return the pair of accesses that decides the relative distance."""
        if dying.same_as(written) or not {dying, written} <= self._known:
            return Decision(PairDistance(UNBOUNDED))
        with report_faults(f"to analyze the accesses of operator {self.name}"):
            return self._greatest(dying, written)

    @cached_property
    def _known(self) -> set[Memory]:
        """The memories whose accesses are all known."""
        known = {*self.func.params, *self.trace.allocated} - self.trace.escaped
        return {self._in_trace(memory) for memory in known}

    @cached_property
    def groups(self) -> dict[Memory, set[object]]:
        """The outermost statements that access each memory. Two memories that are live at the same
        time can share bytes only if one of these statements accesses both."""
        return {
            memory: {_outermost(access.statement) for access in accesses}
            for memory, accesses in self.trace.accesses.items()
        }

    @cached_property
    def reach(self) -> CalleeReach:
        """The bytes that a call of the PrimFunc accesses."""
        reaches = self.numbered.once("reach", (), self._reach)
        reach = dict(zip(self.trace.accesses, reaches, strict=True))
        params = [self._in_trace(param) for param in self.func.params]
        allocated = self.trace.allocated if self.height < DEEPEST_CALLS else set()
        return CalleeReach(params, allocated, reach, self.trace.escaped)

    def _reach(self) -> list[Reach]:
        reach = []
        for accesses in self.trace.accesses.values():
            hulls = [self._hull(access) for access in accesses]
            ends = [end for (_, end), a in zip(hulls, accesses, strict=True) if a.is_write]
            reach.append(Reach(min(first for first, _ in hulls), max(ends, default=-UNBOUNDED)))
        return reach

    def _size_bytes(self, memory: Memory) -> int:
        if memory not in self._sizes_of_memories:
            self._sizes_of_memories[memory] = self._greatest_size(memory)
        return self._sizes_of_memories[memory]

    def _greatest_size(self, memory: Memory) -> int:
        is_buffer = tirx.is_buffer_var(memory)
        if is_buffer and has_static_size(memory):
            return size_bytes(memory)
        views = [] if is_buffer else self.points.views(memory)
        sizes = [size_bytes(view) for view in views if has_static_size(view)]
        if not sizes or len(sizes) < len(views):
            raise ValueError(f"the size of {memory.name} is not known")
        # Other views begin behind the start of the memory, and may end behind these views.
        ends = (self._hull(access)[1] for access in self.trace.accesses.get(memory, ()))
        return max(*sizes, *(end for end in ends if end < UNBOUNDED // 2), 0)

    # ---- pairs of accesses

    def _greatest(self, dying: Memory, written: Memory) -> Decision:
        of_dying, of_written = self._by_group(dying), self._by_group(written)
        writes = {group.statement: group.writes for group in of_written}
        shared = [
            (group.accesses, writes[group.statement])
            for group in of_dying
            if group.statement in writes
        ]
        pairs = sum(len(ends) * len(firsts) for firsts, ends in shared)
        if pairs > _MOST_PAIRS:
            return Decision(PairDistance(UNBOUNDED))
        most = min(MOST_VALUES, _MOST_COMPARED // max(pairs, 1))
        best = self._over_groups(dying, written)
        possible = [
            (end - first, write, access)
            for firsts, ends in shared
            for first, access in firsts
            for end, write in ends
        ]
        # `end - first` bounds the distance of a pair from above, so most pairs can be skipped.
        for greatest, write, access in sorted(possible, key=itemgetter(0), reverse=True):
            if greatest > best.compared.distance or _is_one_call(write, access):
                compared = self.compared(write, access, most)
                if compared.distance > best.compared.distance:
                    best = Decision(compared, write, access)
        self._found_for_now.clear()
        return best._replace(
            compared=best.compared._replace(distance=limited(best.compared.distance))
        )

    def _over_groups(self, dying: Memory, written: Memory) -> Decision:
        """Return the decision among writes, and accesses in later outermost statements."""
        best = Decision(PairDistance(-UNBOUNDED))
        writes = self._by_group(written)
        end_before, last_write, done = -UNBOUNDED, None, 0
        for group in self._by_group(dying):
            while done < len(writes) and writes[done].order < group.order:
                if writes[done].statement is group.statement:
                    break
                for end, write in writes[done].writes:
                    if end > end_before:
                        end_before, last_write = end, write
                done += 1
            for first, access in group.accesses:
                if end_before - first > best.compared.distance:
                    compared = PairDistance(end_before - first, end_before, first)
                    best = Decision(compared, last_write, access)
        return best

    def _by_group(self, memory: Memory) -> list[_Group]:
        """Return the accesses to a memory by outermost statement, in program order."""
        if memory in self._groups:
            return self._groups[memory]
        groups: dict[object, _Group] = {}
        with report_faults(f"to analyze the accesses of operator {self.name}"):
            for access in self.trace.accesses.get(memory, ()):
                statement = _outermost(access.statement)
                if statement not in groups:
                    groups[statement] = _Group(statement, access.statement.order, [], [])
                first, end = self._hull(access)
                groups[statement].accesses.append((first, access))
                if access.is_write:
                    groups[statement].writes.append((end, access))
        self._groups[memory] = sorted(groups.values(), key=lambda group: group.order)
        return self._groups[memory]

    def _hull(self, access: TracedAccess) -> tuple[int, int]:
        """Return the first byte and the end of an access over all iterations."""
        touched = self._bytes(access, 0)
        return (-UNBOUNDED, UNBOUNDED) if touched is None else (int(touched[0]), int(touched[1]))

    def _bytes(self, access: TracedAccess, common: int, most: int = 0) -> AccessedBytes:
        """Return `accessed_bytes`; None if they are unknown. Arrays of up to `most` values are
        cached for the current pair of memories."""
        key = access, common
        if key in self._found_for_now:
            return self._found_for_now[key]
        touched = self._accessed.of(access, self.trace.bound, common)
        self._sizes[key] = values_of(touched)
        if common and self._sizes[key] <= most:
            self._found_for_now[key] = touched
        return touched

    def compared(self, write: TracedAccess, access: TracedAccess, most: int) -> PairDistance:
        """Return the largest distance of a write and a later access, in any iterations; at most
        `most` iterations are compared."""
        a, b = write.statement, access.statement
        shared = shared_loops(a, b)
        ordered = sum(1 for _ in takewhile(lambda loop: loop.is_ordered, shared))
        is_followed = ordered == len(shared)
        if is_followed and _is_one_call(write, access):
            in_call = self._call_distance(write, access)
            if in_call == UNBOUNDED:
                return PairDistance(UNBOUNDED)
            between = self._over_iterations(write, access, shared[:ordered], False, most)
            return between if between.distance > in_call else PairDistance(in_call)
        # The order within one iteration of the shared loops.
        before = not is_followed or (not a.loads_first if a is b else a.order < b.order)
        return self._over_iterations(write, access, shared[:ordered], before, most)

    def _over_iterations(
        self,
        write: TracedAccess,
        access: TracedAccess,
        loops: Sequence[TracedLoop],
        before: bool,
        most: int,
    ) -> PairDistance:
        """Return the largest distance over the iterations of `loops`, where the write is first
        within one iteration if `before`. If there are too many iterations, those of inner loops
        are treated as one, in which either access may be first."""
        for common in range(len(loops), -1, -1):
            if any(self._sizes.get((side, common), 0) > most for side in (write, access)):
                continue
            written, accessed = (self._bytes(side, common, most) for side in (write, access))
            if written is None or accessed is None:
                continue
            is_first = before or common < len(loops)
            distance = in_order(written[1], accessed[0], loops[:common], is_first, most)
            if distance is not None:
                return distance._replace(followed=common)
        return PairDistance(UNBOUNDED)

    def _call_distance(self, write: TracedAccess, access: TracedAccess) -> int:
        """Return the distance within one call, from the callee's distance and the arguments."""
        callee = self.callees[str(write.statement.callee)]
        assert write.in_callee is not None and access.in_callee is not None
        if callee.height >= DEEPEST_CALLS:
            return UNBOUNDED
        inside = callee.relative_distance(access.in_callee, write.in_callee)
        if abs(inside) >= UNBOUNDED:
            return inside
        try:
            return inside + greatest_difference(write, access, self.trace.bound)
        except NotKnown:
            return UNBOUNDED


def _outermost(statement: TracedStatement) -> object:
    return statement.loops[0] if statement.loops else statement


def _is_one_call(a: TracedAccess, b: TracedAccess) -> bool:
    """Return whether both accesses belong to one call, so that the callee knows their order."""
    return a.statement is b.statement and a.statement.callee is not None


def shared_loops(a: TracedStatement, b: TracedStatement) -> list[TracedLoop]:
    """Return the loops around both statements, outermost first."""
    pairs = takewhile(lambda pair: pair[0] is pair[1], zip(a.loops, b.loops, strict=False))
    return [loop for loop, _ in pairs]
