"""Why may two buffers of a plan share no more bytes than they do?

The rules are those of `usmp.analysis.set_overlaps`, and what is read is what that read: so a reason
is the one that the plan has, in the words of the analysis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.memory.calls import prim_funcs
from usmp.analysis.memory.distance_reason import DistanceReason, distance_reason
from usmp.analysis.memory.facts import module_facts
from usmp.analysis.memory.memories import Memory
from usmp.analysis.memory.safe_distance import SafeOverlap
from usmp.analysis.set_overlaps import has_content, is_used_later
from usmp.objects import BufferInfo
from usmp.objects.entries import entries_of, entry_function_name
from usmp.objects.operator_attributes import OPERATOR_SHAPES_ATTR
from usmp.objects.symbolic_size import has_symbolic_sizes
from usmp.planning.options import PlanningOptions
from usmp.planning.plan import Plan
from usmp.planning.session import PlanningSession

DISTANCE = "distance"
"""An operator accesses both: the one that it writes must start so far below the other."""
NOT_ONE_OPERATOR = "no common operator"
"""No operator accesses both, so both must be intact while others run."""
KEPT = "kept"
"""What the one holds was there before the run, or is used after it, and so is the other's."""
NO_OVERLAP = "overlap is off"
"""`tir.usmp.overlap=0`, or an algorithm that shares nothing."""
OTHER_ENTRIES = "entries that run at once"
"""They belong to entries of which each may interrupt the other."""
NOT_KNOWN = "not known"
"""The analysis does not say."""


_FEWEST_EXTENTS = 3
"""A batch of one, rows, and what is in a row."""


@dataclass(frozen=True)
class SharingReason:
    """Why two buffers that are live together may share no more bytes.

    Parameters
    ----------
    kind
        one of the constants of this module.
    dying, written
        names of the two: `written` may lie over bytes of `dying` from where it starts `distance`
        bytes below it; the least harmful of the two ways round.
    distance, size
        bytes; as many as `size`, those of `written`, permit no common byte.
    because
        what decides the distance.
    at_largest_sizes
        of a program with symbolic sizes: the reason is that of the largest ones.
    kept
        for `KEPT`, those of the two names whose content is needed before or after.
    dying_row_bytes, written_row_bytes
        what a row takes of the two, where an operator knows them as tensors of rows.
    """

    kind: str
    dying: str
    written: str
    distance: int
    size: int
    because: DistanceReason | None = None
    at_largest_sizes: bool = False
    kept: tuple[str, ...] = ()
    dying_row_bytes: int | None = None
    written_row_bytes: int | None = None


class SharingReasons:
    """The reasons of a plan.

    Parameters
    ----------
    session
        in which it was made.
    prepared
        the module that it is a plan of.
    found
        the plan.
    options
        it was made by.
    """

    def __init__(
        self, session: PlanningSession, prepared: IRModule, found: Plan, options: PlanningOptions
    ) -> None:
        self._options = options
        self._stmts = dict(found.analysis.buffer_info_stmts.items())
        self._is_symbolic = has_symbolic_sizes(prepared)
        self._mod = session.at_largest_sizes(prepared) if self._is_symbolic else prepared

    def of(self, one: BufferInfo, other: BufferInfo) -> SharingReason:
        """Why these two, which are live together, share no more."""
        first, second = sorted((one, other), key=_start)
        if not (self._options.overlap and self._options.shares_memory):
            return _nothing(NO_OVERLAP, first, second)
        found = self._with_both(first, second)
        if found is None:
            several = len(entries_of(self._mod)) > 1
            return _nothing(OTHER_ENTRIES if several else NOT_KNOWN, first, second)
        overlap, memories = found
        if overlap.groups.get(memories[first], set()).isdisjoint(
            overlap.groups.get(memories[second], set())
        ):
            return _nothing(NOT_ONE_OPERATOR, first, second)
        ways = [
            (dying, written)
            for dying, written in ((first, second), (second, first))
            if not self._is_used_later(dying) and not self._has_content(written)
        ]
        if not ways:
            kept = (b for b in (first, second) if self._is_used_later(b))
            return _nothing(KEPT, first, second, tuple(str(b.name_hint) for b in kept))
        distances = {way: self._distance(overlap, memories, *way) for way in ways}
        dying, written = max(ways, key=lambda way: _saved(way[0], way[1], distances[way]))
        because = distance_reason(overlap, memories[dying], memories[written])
        return SharingReason(
            DISTANCE,
            str(dying.name_hint),
            str(written.name_hint),
            distances[dying, written],
            int(written.size_bytes),
            because,
            self._is_symbolic,
            dying_row_bytes=self._row_bytes(dying, because, because.accessed_name),
            written_row_bytes=self._row_bytes(written, because, because.written_name),
        )

    def _row_bytes(
        self, buffer: BufferInfo, because: DistanceReason, name: str | None
    ) -> int | None:
        """Bytes of a row, if the operator has the buffer as a tensor of one image or sequence."""
        func = prim_funcs(self._mod).get(because.functions[-1]) if because.functions else None
        if func is None:
            return None
        shapes = OPERATOR_SHAPES_ATTR.of(func) or {}
        extents = list(shapes.get(name, ())) if name is not None else []
        if len(extents) < _FEWEST_EXTENTS or not all(isinstance(e, int) for e in extents):
            return None
        size, elements = int(buffer.size_bytes), prod(map(int, extents))
        if int(extents[0]) != 1 or elements == 0 or size % elements:
            return None
        return size // int(extents[1])

    def _distance(
        self,
        overlap: SafeOverlap,
        memories: dict[BufferInfo, Memory],
        dying: BufferInfo,
        written: BufferInfo,
    ) -> int:
        """As the plan has it; where the one may never lie over the other, as it is found."""
        if dying in written.overlaps:
            return int(written.overlaps[dying])
        distance = overlap.distance(memories[dying], memories[written])
        return min(distance, int(written.size_bytes))

    def _with_both(
        self, one: BufferInfo, other: BufferInfo
    ) -> tuple[SafeOverlap, dict[BufferInfo, Memory]] | None:
        """The entry in which both are, and the memory of each there."""
        for overlap, known in self._entries:
            if one in known and other in known:
                return overlap, {one: known[one], other: known[other]}
        return None

    @cached_property
    def _entries(self) -> list[tuple[SafeOverlap, dict[BufferInfo, Memory]]]:
        """For each entry the distances in it, and the memories of the buffers."""
        return [
            (facts.overlap, self._memories(set(facts.liveness.allocations)))
            for facts in (
                module_facts(self._mod).of(entry_function_name(entry))
                for entry in entries_of(self._mod)
            )
        ]

    def _memories(self, allocations: set[tirx.AllocBuffer]) -> dict[BufferInfo, Memory]:
        if not self._is_symbolic:
            return {b: stmt.buffer for b, stmt in self._stmts.items() if stmt in allocations}
        # Instances have statements of their own; names say which is which, if they are unique.
        by_name = _unique_names(stmt.buffer for stmt in allocations)
        asked = _unique_names(stmt.buffer for stmt in self._stmts.values())
        return {
            b: by_name[str(stmt.buffer.name)]
            for b, stmt in self._stmts.items()
            if str(stmt.buffer.name) in by_name and str(stmt.buffer.name) in asked
        }

    def _has_content(self, buffer: BufferInfo) -> bool:
        return has_content(buffer, self._stmts[buffer])

    def _is_used_later(self, buffer: BufferInfo) -> bool:
        return is_used_later(buffer, self._stmts[buffer], self._options.preserve_inputs)


def _start(buffer: BufferInfo) -> int:
    return min((int(live.start) for live in buffer.live_ranges), default=0)


def _saved(dying: BufferInfo, written: BufferInfo, distance: int) -> int:
    return max(0, min(int(dying.size_bytes), int(written.size_bytes) - distance))


def _nothing(
    kind: str, first: BufferInfo, second: BufferInfo, kept: tuple[str, ...] = ()
) -> SharingReason:
    size = int(second.size_bytes)
    names = str(first.name_hint), str(second.name_hint)
    return SharingReason(kind, *names, size, size, kept=kept)


def _unique_names(buffers: Iterator[Memory]) -> dict[str, Memory]:
    found: dict[str, list[Memory]] = {}
    for buffer in buffers:
        found.setdefault(str(buffer.name), []).append(buffer)
    return {name: named[0] for name, named in found.items() if len(named) == 1}
