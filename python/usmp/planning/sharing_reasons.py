"""The reasons why two buffers of a plan share no more bytes than they do.

The rules and the facts are those of `usmp.analysis.set_overlaps`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.memory.calls import prim_funcs
from usmp.analysis.memory.distances.distance_reason import DistanceReason, distance_reason
from usmp.analysis.memory.distances.safe_distance import SafeOverlap
from usmp.analysis.memory.facts import module_facts
from usmp.analysis.memory.memories import Memory
from usmp.analysis.set_overlaps import has_content, is_used_later
from usmp.objects import BufferInfo
from usmp.objects.attributes.operator_attributes import OPERATOR_SHAPES_ATTR
from usmp.objects.entries import entries_of, entry_function_name
from usmp.objects.symbolic_size import has_symbolic_sizes
from usmp.planning.options import PlanningOptions
from usmp.planning.plan import Plan
from usmp.planning.session import PlanningSession

DISTANCE = "distance"
"""An operator accesses both buffers: the one that it writes must start `distance` bytes
below the other."""
NOT_ONE_OPERATOR = "no common operator"
"""No operator accesses both buffers, so both must be intact while other operators run."""
KEPT = "kept"
"""Content before or after the run forbids that either of the two overwrites the other."""
NO_OVERLAP = "overlap is off"
"""A disabled pass `OverlapInputsAndOutputs`, or an algorithm that never shares memory."""
OTHER_ENTRIES = "entries that run at once"
"""The buffers belong to two entries that may interrupt each other."""
NOT_KNOWN = "not known"
"""The analysis has no reason."""


_FEWEST_EXTENTS = 3
"""Fewest axes of a tensor with rows: a batch of one, the rows, and one axis within a row."""


@dataclass(frozen=True)
class SharingReason:
    """The reason that two buffers that are live together may share no more bytes.

    Parameters
    ----------
    kind
        one of the constants of this module.
    dying, written
        names of the buffers: `written` may overwrite bytes of `dying` if it starts `distance` bytes
        below. Of the two directions of overwriting, this one shares more bytes.
    distance, size
        safe distance, and size of `written`, in bytes; a distance of `size` permits no common byte.
    because
        the accesses that decide the distance.
    at_largest_sizes
        whether the program has symbolic sizes: the reason then holds at the largest ones.
    kept
        for `KEPT`, the names of the buffers whose content is needed after the run.
    dying_row_bytes, written_row_bytes
        bytes of a row of each buffer, if an operator accesses the buffer as a tensor with rows.
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
    """The reasons for the distances in a plan.

    Parameters
    ----------
    session
        the session that made the plan.
    prepared
        the module that was planned.
    found
        the plan.
    options
        the options of the plan.
    """

    def __init__(
        self, session: PlanningSession, prepared: IRModule, found: Plan, options: PlanningOptions
    ) -> None:
        self._options = options
        self._stmts = dict(found.analysis.buffer_info_stmts.items())
        self._is_symbolic = has_symbolic_sizes(prepared)
        self._mod = session.at_largest_sizes(prepared) if self._is_symbolic else prepared

    def of(self, one: BufferInfo, other: BufferInfo) -> SharingReason:
        """Return the reason why two buffers that are live together share no more bytes."""
        first, second = sorted((one, other), key=_start)
        if not (self._options.overlap and self._options.shares_memory):
            return _nothing(NO_OVERLAP, first, second)
        entry = self._with_both(first, second)
        if entry is None:
            several = len(entries_of(self._mod)) > 1
            return _nothing(OTHER_ENTRIES if several else NOT_KNOWN, first, second)
        overlap, memories = entry
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
        """Return the bytes of a row, if the operator's tensor is one image or sequence."""
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
        """Return the safe distance of the plan, or of the analysis if the plan has no overlap."""
        if dying in written.overlaps:
            return int(written.overlaps[dying])
        distance = overlap.distance(memories[dying], memories[written])
        return min(distance, int(written.size_bytes))

    def _with_both(
        self, one: BufferInfo, other: BufferInfo
    ) -> tuple[SafeOverlap, dict[BufferInfo, Memory]] | None:
        """Return the distances of the entry that has both buffers, and the memory of each."""
        for overlap, known in self._entries:
            if one in known and other in known:
                return overlap, {one: known[one], other: known[other]}
        return None

    @cached_property
    def _entries(self) -> list[tuple[SafeOverlap, dict[BufferInfo, Memory]]]:
        """Safe distances and memories of the buffers, for each entry."""
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
        # Instances at fixed sizes have other statements; match them by name where names are unique.
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
    by_name: dict[str, list[Memory]] = {}
    for buffer in buffers:
        by_name.setdefault(str(buffer.name), []).append(buffer)
    return {name: named[0] for name, named in by_name.items() if len(named) == 1}
