"""How far below a buffer that is still read may the buffer start that is written meanwhile?

An operator that reads its input in order may write its output over what it has read. The output x
may start d bytes below the input y if no byte of x is written before y is accessed at the same
address for the last time:

    D(y, x) = max of  end of the bytes written by w - first byte accessed by a
              over all writes w of x and accesses a of y such that w runs before a

Every distance of at least D is as safe. An access is a load or a store: what is stored to y after w
would destroy what w wrote. 0 permits the same address, the size of x no common byte. All shapes are
static, so first and end are computed for every iteration of the loops that w and a share (see
`accessed_bytes`), and the maximum is taken along the order in which the iterations run.

DESIGN: "the one placement rule"; P. Blacker et al., "Diagonal memory optimization", 2020, derives
such distances by hand for convolutions.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from operator import itemgetter
from typing import NamedTuple

from tvm import tirx

from usmp.analysis.memory.accessed_bytes import greatest_difference
from usmp.analysis.memory.buffer_size import has_static_size, size_bytes
from usmp.analysis.memory.equal_traces import NumberedTrace, numbered_trace
from usmp.analysis.memory.index_values import MOST_VALUES, NotKnown
from usmp.analysis.memory.iterations import TracedLoop
from usmp.analysis.memory.kept_bytes import AccessedBytes, KeptBytes, values_of
from usmp.analysis.memory.memories import UNBOUNDED, Memory
from usmp.analysis.memory.pair_distance import PairDistance, in_order, limited
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
"""Accesses of two memories that are compared one by one; if there are more, nothing is known."""

_MOST_COMPARED = 1 << 25
"""Iterations that are compared for two memories, by all pairs of their accesses together."""

DEEPEST_CALLS = 50
"""Below so many PrimFuncs that call each other, buffers are not looked at any more."""


class _Group(NamedTuple):
    """The accesses to a memory in one outermost statement: each with its first byte, and each that
    writes with its end, over all iterations."""

    statement: object
    order: int
    accesses: list[tuple[int, TracedAccess]]
    writes: list[tuple[int, TracedAccess]]


class Decision(NamedTuple):
    """What decides the distance of two memories: of all their accesses, the pair of which it is the
    greatest; None if there is no pair, or none was looked at since there are too many."""

    compared: PairDistance
    write: TracedAccess | None = None
    access: TracedAccess | None = None


class SafeOverlap(NotCopied):
    """The safe distances between the memories of a PrimFunc: its parameters, and the buffers of
    AllocBuffers in it and in the PrimFuncs that it calls.

    Parameters
    ----------
    name
        of the PrimFunc.
    func
        the PrimFunc.
    points
        what its variables point to.
    trace
        its accesses.
    callees
        the safe distances of those that it calls, by name, and of kernels, by their keys.
    accessed
        keeps the bytes of accesses, of several PrimFuncs together.
    shared
        has what is known of traces, of several PrimFuncs together.
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
        """How many PrimFuncs stand below it, each called by the one before."""
        self._accessed = accessed
        self._shared = shared
        self._distances: dict[tuple[Memory, Memory], int] = {}
        self._sizes_of_memories: dict[Memory, int] = {}
        self._groups: dict[Memory, list[_Group]] = {}
        self._traced = {identity(memory): memory for memory in trace.accesses}
        self._sizes: dict[tuple[TracedAccess, int], int] = {}
        """Values of what was found, kept or not."""
        self._found_for_now: dict[tuple[TracedAccess, int], AccessedBytes] = {}
        """For one pair of memories; too much to keep."""

    def distance(self, dying: Memory, written: Memory) -> int:
        """By how many bytes `written` must start below `dying` at least, if they share bytes.

        0 permits the same address, the size of `written` no common byte.

        Raises
        ------
        ValueError
            the size of `written` is not known.
        """
        dying, written = self._in_trace(dying), self._in_trace(written)
        size_bytes = self._size_bytes(written)
        if self._over_groups(dying, written).compared.distance >= size_bytes:
            return max(0, size_bytes)
        return max(0, min(self.relative_distance(dying, written), size_bytes))

    def relative_distance(self, dying: Memory, written: Memory) -> int:
        """The same, not limited to what makes sense: negative if `written` may start above, and
        `UNBOUNDED` if nothing is known; `-UNBOUNDED` if there is nothing to destroy."""
        pair = dying, written = self._in_trace(dying), self._in_trace(written)
        if pair not in self._distances:
            self._distances[pair] = self.numbered.once(
                "distance", pair, lambda: self.decision(dying, written).compared.distance
            )
        return self._distances[pair]

    def _in_trace(self, memory: Memory) -> Memory:
        """Return the object by which the trace has a memory, because maps find that without a
        comparison by TVM, which is slow; `memory` itself if nothing accesses it."""
        return self._traced.get(identity(memory), memory)

    @cached_property
    def numbered(self) -> NumberedTrace:
        """Its memories and loops by numbers, for what holds for all PrimFuncs of equal traces."""

        def called(name: str, memory: Memory | None) -> Hashable:
            callee = self.callees[name]
            if isinstance(callee, StatedKernel):
                return callee, memory
            equal, numbers = callee.numbered.equal, callee.numbered.memories
            return equal, callee.height, None if memory is None else numbers.get(memory)

        return numbered_trace(self.func.params, self.trace, called, self._shared)

    def decision(self, dying: Memory, written: Memory) -> Decision:
        """What decides the relative distance."""
        if dying.same_as(written) or not {dying, written} <= self._known:
            return Decision(PairDistance(UNBOUNDED))
        with report_faults(f"to analyze the accesses of operator {self.name}"):
            return self._greatest(dying, written)

    @cached_property
    def _known(self) -> set[Memory]:
        """The memories of which every access is known."""
        known = {*self.func.params, *self.trace.allocated} - self.trace.escaped
        return {self._in_trace(memory) for memory in known}

    @cached_property
    def groups(self) -> dict[Memory, set[object]]:
        """The outermost statements that access each memory. Memories that have none in common
        need no distance of their own: one is done with before the other is begun, or all of one
        matters while the other is accessed."""
        return {
            memory: {_outermost(access.statement) for access in accesses}
            for memory, accesses in self.trace.accesses.items()
        }

    @cached_property
    def reach(self) -> CalleeReach:
        """What a call of the PrimFunc accesses."""
        found = self.numbered.once("reach", (), self._reach)
        reach = dict(zip(self.trace.accesses, found, strict=True))
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
        # Other views may begin behind the start of a memory, and end behind those that do not.
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
        # No pair exceeds what it would be if all writes came first, so most need no look.
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
        """Return what decides the distance among writes, and accesses in later ones of the
        outermost statements."""
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
        """The accesses to a memory by outermost statement, in their order."""
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
        """First byte and end over all iterations."""
        found = self._bytes(access, 0)
        return (-UNBOUNDED, UNBOUNDED) if found is None else (int(found[0]), int(found[1]))

    def _bytes(self, access: TracedAccess, common: int, most: int = 0) -> AccessedBytes:
        """As `accessed_bytes`; None if they are not known. Arrays of up to `most` values are kept
        for the pair of memories that is looked at."""
        key = access, common
        if key in self._found_for_now:
            return self._found_for_now[key]
        found = self._accessed.of(access, self.trace.bound, common)
        self._sizes[key] = values_of(found)
        if common and self._sizes[key] <= most:
            self._found_for_now[key] = found
        return found

    def compared(self, write: TracedAccess, access: TracedAccess, most: int) -> PairDistance:
        """The greatest distance of runs of two statements, of which the write's comes first; no
        more than `most` iterations are compared."""
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
        # In one iteration of the loops that they share.
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
        """The same, the write being first in one iteration of `loops` only if `before`. Where
        iterations are too many, those of inner loops are taken together: then any of the two may be
        first."""
        for common in range(len(loops), -1, -1):
            if any(self._sizes.get((one, common), 0) > most for one in (write, access)):
                continue
            written, accessed = (self._bytes(one, common, most) for one in (write, access))
            if written is None or accessed is None:
                continue
            is_first = before or common < len(loops)
            found = in_order(written[1], accessed[0], loops[:common], is_first, most)
            if found is not None:
                return found._replace(followed=common)
        return PairDistance(UNBOUNDED)

    def _call_distance(self, write: TracedAccess, access: TracedAccess) -> int:
        """What the callee's own accesses ask for, its arguments being where they are."""
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
    """Whether both are of the same call, so that its callee knows their order."""
    return a.statement is b.statement and a.statement.callee is not None


def shared_loops(a: TracedStatement, b: TracedStatement) -> list[TracedLoop]:
    """The loops that both stand in, outermost first."""
    pairs = takewhile(lambda pair: pair[0] is pair[1], zip(a.loops, b.loops, strict=False))
    return [loop for loop, _ in pairs]
