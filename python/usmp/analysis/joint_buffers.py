"""The joint planning problem of several entries, so that one plan holds for all of them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import gcd, lcm

from tvm import tirx

from usmp.analysis.buffer_extraction import pool_pressures, set_conflicts
from usmp.analysis.largest_sets import largest_sets
from usmp.analysis.memory.buffer_size import size_bytes
from usmp.analysis.memory.function_liveness import PositionRange, merge_ranges
from usmp.analysis.pressure import fullest_position, memory_pressure
from usmp.analysis.state_tails import kept_bytes
from usmp.analysis.stmt_pool_allocations import is_constant_info
from usmp.objects import BufferInfo, BufferInfoAnalysis, BufferInfoKind, LiveRange, PoolInfo
from usmp.objects.arguments.executor import DEFAULT_BYTE_ALIGNMENT
from usmp.objects.attributes.annotations import STATE_TENSOR_ATTR
from usmp.support.text.unique_names import UniqueNames
from usmp.tir.dtypes import item_bytes


@dataclass(frozen=True)
class EntryBuffers:
    """The buffers of one entry.

    Parameters
    ----------
    entry
        name of the entry.
    analysis
        the result of `extract_buffer_info` for this entry alone.
    length
        number of program positions.
    written_states
        names of the states that the entry may write, in any run.
    """

    entry: str
    analysis: BufferInfoAnalysis
    length: int
    written_states: frozenset[str] = frozenset()


def entry_ranges(lengths: Mapping[str, int]) -> dict[str, PositionRange]:
    """Return the positions of each entry in the joint program, from their numbers of positions."""
    ranges: dict[str, PositionRange] = {}
    position = 0
    for entry, length in lengths.items():
        ranges[entry] = (position, position + length)
        position += length
    return ranges


def join_buffers(
    parts: Sequence[EntryBuffers],
    concurrent: Collection[frozenset[str]] = (),
    pack_constants: bool = False,
    overlap: bool = True,
) -> BufferInfoAnalysis:
    """Join the buffers of all entries into one problem; names begin with the name of the entry.

    Positions of entries follow each other, so that buffers of two entries are not live together.
    Buffers of two entries that may run at once conflict. A state has one `BufferInfo` for each
    entry that allocates it. The first of them has the live ranges of all, and is live throughout
    entries without the state (see `create_array_buffer_info`). An AllocBuffer in an operator that
    several entries call is one buffer. Each set of entries that may all run at once gets an extra
    position. Buffers that are live at the fullest position of an entry in the set are live there,
    too. This adds no conflict, but makes lower bounds from live ranges tight.

    Parameters
    ----------
    parts
        the entries, in order.
    concurrent
        pairs of entries that may run at once.
    pack_constants
        whether to lower the alignment of a constant whose size is not a multiple of it, down to
        the alignment of its elements. Joint constants then take no more bytes than with a pool for
        each entry, where the last constant needs no padding.
    overlap
        whether safe overlaps are permitted, as in `extract_buffer_info`.

    Raises
    ------
    ValueError
        a state with two sizes, types or alignments, or without a pool that suits all entries;
        entries that may run at once and share an allocation, or a state that is written.
    """
    return _Joined(parts, concurrent, pack_constants, overlap).analysis()


@dataclass
class _Shared:
    """One buffer of the joint problem: its info and allocation by number of the entry."""

    infos: dict[int, BufferInfo] = field(default_factory=dict)
    stmts: dict[int, tirx.AllocBuffer] = field(default_factory=dict)

    @property
    def first(self) -> BufferInfo:
        return next(iter(self.infos.values()))

    @property
    def first_stmt(self) -> tirx.AllocBuffer:
        return next(iter(self.stmts.values()))

    @property
    def is_state(self) -> bool:
        return bool(self.first.kind == BufferInfoKind.STATE)


class _Joined:
    def __init__(
        self,
        parts: Sequence[EntryBuffers],
        concurrent: Collection[frozenset[str]],
        pack_constants: bool,
        overlap: bool,
    ) -> None:
        self.parts = parts
        self.pack_constants = pack_constants
        self.overlap = overlap
        self.ranges = list(entry_ranges({part.entry: part.length for part in parts}).values())
        names = [part.entry for part in parts]
        self.concurrent = [
            (i, j)
            for i, j in combinations(range(len(parts)), 2)
            if frozenset((names[i], names[j])) in concurrent
        ]
        self.together = largest_sets(len(parts), self.concurrent)
        self.length = sum(part.length for part in parts)
        self.end = self.length + len(self.together)
        self.buffers = self._buffers()

    def analysis(self) -> BufferInfoAnalysis:
        """Return the joint buffers with their conflicts and overlaps."""
        self._check_concurrent()
        names = UniqueNames()
        stmts: dict[BufferInfo, tirx.AllocBuffer] = {}
        joint: dict[Hashable, BufferInfo] = {}
        for key, shared in self.buffers.items():
            joint[key] = self._joint(shared, names)
            stmts[joint[key]] = shared.first_stmt
            for number, stmt in list(shared.stmts.items())[1:]:
                if shared.is_state:
                    # The copies keep the name of the first info, which alone is placed.
                    live = _live_ranges(self._ranges_in(shared, number))
                    stmts[joint[key].copy_with(live_ranges=live)] = stmt
        workspace = {key: info for key, info in joint.items() if not is_constant_info(info)}
        set_conflicts(list(workspace.values()))
        self._add_concurrent_conflicts(workspace)
        self._set_overlaps(workspace)
        set_conflicts([info for info in joint.values() if is_constant_info(info)])
        pressure = memory_pressure(list(workspace.values()))
        return BufferInfoAnalysis(stmts, pressure, pool_pressures(stmts))

    def _buffers(self) -> dict[Hashable, _Shared]:
        """Return the buffers in the order of the entries, and of the program in each."""
        buffers: dict[Hashable, _Shared] = {}
        for number, part in enumerate(self.parts):
            for info, stmt in part.analysis.buffer_info_stmts.items():
                key: Hashable = stmt
                if info.kind == BufferInfoKind.STATE:
                    key = STATE_TENSOR_ATTR.required(stmt)
                shared = buffers.setdefault(key, _Shared())
                self._check_state(shared, info, stmt, part.entry)
                shared.infos[number] = info
                shared.stmts[number] = stmt
        return buffers

    def _check_state(
        self, shared: _Shared, info: BufferInfo, stmt: tirx.AllocBuffer, entry: str
    ) -> None:
        """Check that size, type, alignment and pin of a state are those in its first entry."""
        if not shared.infos or not shared.is_state:
            return
        known = shared.first
        described = [
            (kept_bytes(s), str(s.buffer.dtype), int(i.alignment), i.fixed_offset)
            for i, s in ((known, shared.first_stmt), (info, stmt))
        ]
        if described[0] == described[1]:
            return
        other = self.parts[next(iter(shared.infos))].entry
        texts = [
            f"{size} bytes of {dtype}, aligned to {alignment}"
            + ("" if pin is None else f", at byte {pin}")
            for size, dtype, alignment, pin in described
        ]
        raise ValueError(
            f'state "{info.name_hint}" is {texts[0]} in entry "{other}", but {texts[1]} in entry '
            f'"{entry}"; one state has one place, size and type'
        )

    def _ranges_in(self, shared: _Shared, number: int) -> list[PositionRange]:
        start, stop = self.ranges[number]
        if number not in shared.infos:
            return [(start, stop)] if shared.is_state else []
        return [
            (start + int(live.start), start + int(live.stop))
            for live in shared.infos[number].live_ranges
        ]

    def _joint(self, shared: _Shared, names: UniqueNames) -> BufferInfo:
        if is_constant_info(shared.first):
            ranges = [(0, self.end)]
        else:
            ranges = [
                s for number in range(len(self.parts)) for s in self._ranges_in(shared, number)
            ]
            ranges += self._witnesses(shared)
        name = str(shared.first.name_hint)
        if not shared.is_state:
            name = f"{self.parts[next(iter(shared.infos))].entry}.{name}"
        return BufferInfo(
            names.unique(name),
            # Sizes of a state differ by its tail (see `state_tails`).
            max(info.size_bytes for info in shared.infos.values()),
            self._candidates(shared),
            self._alignment(shared),
            _live_ranges(ranges),
            shared.first.kind,
            shared.first.fixed_offset,
        )

    def _alignment(self, shared: _Shared) -> int:
        info = shared.first
        alignment, size = int(info.alignment), int(info.size_bytes)
        element = item_bytes(str(shared.first_stmt.buffer.dtype))
        is_usual = alignment == lcm(DEFAULT_BYTE_ALIGNMENT, element)
        if not (self.pack_constants and is_usual and is_constant_info(info)):
            return alignment
        return max(element, gcd(size, alignment))

    def _candidates(self, shared: _Shared) -> list[PoolInfo]:
        """Return the pools that suit all entries, in the order of the first entry."""
        lists = [list(info.pool_candidates) for info in shared.infos.values()]
        common = set.intersection(*({str(p.pool_name) for p in pools} for pools in lists))
        candidates = [pool for pool in lists[0] if str(pool.pool_name) in common]
        if not candidates:
            raise ValueError(
                f'buffer "{shared.first.name_hint}" has no candidate pool that all of its entries '
                f"may use ({', '.join(self.parts[number].entry for number in shared.infos)})"
            )
        return candidates

    # ---- entries that may run at once

    def _check_concurrent(self) -> None:
        """Check that entries that may run at once share no buffer that one of them writes."""
        for i, j in self.concurrent:
            entry, other = self.parts[i], self.parts[j]
            for shared in self.buffers.values():
                if not {i, j} <= shared.infos.keys() or is_constant_info(shared.first):
                    continue
                name = str(shared.first.name_hint)
                if shared.is_state:
                    writing = [p.entry for p in (entry, other) if name in p.written_states]
                    if not writing:
                        continue
                    reason = (
                        f'both use the state "{name}", which {" and ".join(writing)} may write; '
                        "let them run in turn, or give each a state of its own"
                    )
                else:
                    reason = f'share the buffer "{name}" of an operator; give each one of its own'
                raise ValueError(
                    f'entries "{entry.entry}" and "{other.entry}" may run at once, but {reason}'
                )

    def _witnesses(self, shared: _Shared) -> list[PositionRange]:
        """Return the extra positions, behind those of all entries, at which a buffer is live."""
        if shared.is_state:
            return [(self.length, self.end)] if self.together else []
        positions: list[PositionRange] = []
        for rank, together in enumerate(self.together):
            for number in together:
                position = self._fullest[number]
                ranges = shared.infos[number].live_ranges if number in shared.infos else ()
                if any(live.start <= position < live.stop for live in ranges):
                    positions.append((self.length + rank, self.length + rank + 1))
        return positions

    @cached_property
    def _fullest(self) -> list[int]:
        """The position of each entry at which the most bytes of its own buffers are live."""
        return [
            fullest_position(
                info
                for info in part.analysis.buffer_info_stmts
                if not (is_constant_info(info) or info.kind == BufferInfoKind.STATE)
            )
            for part in self.parts
        ]

    def _add_concurrent_conflicts(self, workspace: Mapping[Hashable, BufferInfo]) -> None:
        for i, j in self.concurrent:
            ours, theirs = (
                [
                    info
                    for key, info in workspace.items()
                    if number in self.buffers[key].infos and not self.buffers[key].is_state
                ]
                for number in (i, j)
            )
            for infos, others in ((ours, theirs), (theirs, ours)):
                for info in infos:
                    known = set(info.conflicts)
                    info.set_conflicts([*info.conflicts, *(o for o in others if o not in known)])

    # ---- safe overlaps

    def _set_overlaps(self, workspace: Mapping[Hashable, BufferInfo]) -> None:
        """Set the overlaps that are safe in all entries of both buffers, with their distance."""
        key_of = [
            {info: key for key, s in self.buffers.items() if (info := s.infos.get(n)) is not None}
            for n in range(len(self.parts))
        ]
        for key, info in workspace.items():
            overlaps: dict[BufferInfo, int] = {}
            for number, own in self.buffers[key].infos.items():
                for dying, _ in own.overlaps.items():
                    other = key_of[number][dying]
                    distance = self._distance(key, other)
                    if distance is not None and not self._are_concurrent(key, other):
                        overlaps[workspace[other]] = distance
            if self.overlap and self.buffers[key].is_state:
                overlaps |= self._free_of_tail(key, workspace)
            if overlaps:
                info.set_overlaps(overlaps)

    def _free_of_tail(
        self, state: Hashable, workspace: Mapping[Hashable, BufferInfo]
    ) -> dict[BufferInfo, int]:
        """Return the buffers that may use the tail of a state, with their distance. No entry of
        such a buffer uses the tail, or may run at once with an entry that uses the tail."""
        stmts = self.buffers[state].stmts
        kept = kept_bytes(self.buffers[state].first_stmt)
        using = {n for n, stmt in stmts.items() if size_bytes(stmt.buffer) > kept}
        using |= {j for pair in self.concurrent for i, j in (pair, pair[::-1]) if i in using}
        return {
            info: kept
            for other, info in workspace.items()
            if using and not self.buffers[other].is_state
            if using.isdisjoint(self.buffers[other].infos)
        }

    def _distance(self, written: Hashable, dying: Hashable) -> int | None:
        """Return the distance that is safe in all entries; None if one permits no sharing, or if no
        entry has both buffers."""
        distances: list[int] = []
        for number, info in self.buffers[written].infos.items():
            other = self.buffers[dying].infos.get(number)
            if other is None:
                continue
            overlaps = dict(info.overlaps.items())
            if other in overlaps:
                distances.append(int(overlaps[other]))
            elif info.is_live_with(other):
                return None
        return max(distances, default=None)

    def _are_concurrent(self, written: Hashable, dying: Hashable) -> bool:
        return any(
            (i in self.buffers[written].infos and j in self.buffers[dying].infos)
            or (j in self.buffers[written].infos and i in self.buffers[dying].infos)
            for i, j in self.concurrent
        )


def _live_ranges(ranges: Iterable[PositionRange]) -> list[LiveRange]:
    return [LiveRange(start, stop) for start, stop in merge_ranges(ranges)]
