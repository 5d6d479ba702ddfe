"""Read a memory pool of an archive from its metadata, with checks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from usmp.plain.buffer_place import BufferInfoKind, BufferPlace
from usmp.runtime.archived.read_metadata import (
    DamagedMetadata,
    is_count,
    is_identifier,
    is_list_of,
    is_range,
    is_size,
    is_text,
    is_truth,
    read_value,
)
from usmp.support.alignment import is_alignment
from usmp.support.text.plain_text import shown

_KINDS = {kind.name.lower(): kind for kind in BufferInfoKind} | {
    "constant": BufferInfoKind.INTERMEDIATE
}


@dataclass(frozen=True)
class ArchivedPool:
    """A memory pool and its buffers. All sizes are in bytes.

    Parameters
    ----------
    name, c_name
        name that the user gave it, and name in the C code.
    is_constant
        whether it is for constants rather than for the workspace.
    is_internal
        whether it is an array of the generated code; the application passes other pools.
    size_hint_bytes
        limit on the plan; -1 for no limit.
    size_bytes
        size of the plan.
    alignment_bytes
        alignment of the address at which the plan begins.
    first_byte
        offset in the memory at which the plan begins; other data may use earlier bytes.
    address
        address of the first byte of the memory; None if unknown.
    peak_bytes
        highest end of a buffer, as an offset in the plan.
    memory_pressure_bytes
        most bytes that are live at once; with overlap the peak may be smaller.
    lower_bound_bytes, is_optimal
        proved lower bound of the peak, and whether the peak is proved optimal (see
        `usmp.objects.memory_plan.PoolBound`).
    live_at_peak
        names of the buffers that are live at the peak; empty for constants.
    buffers
        buffers in the pool.
    """

    name: str
    c_name: str
    is_constant: bool
    is_internal: bool
    size_hint_bytes: int
    size_bytes: int
    alignment_bytes: int
    peak_bytes: int
    memory_pressure_bytes: int
    lower_bound_bytes: int
    is_optimal: bool
    live_at_peak: list[str]
    buffers: list[BufferPlace]
    first_byte: int = 0
    address: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the pool has no buffers, so that its address may be NULL."""
        return not self.buffers

    @property
    def declared_bytes(self) -> int:
        """The size that the header must declare, at least 1 for an external pool with buffers. It
        is computed apart from the code that prints the header, so that it can check the header."""
        has_address = not self.is_internal and not self.is_empty
        size = self.size_bytes + (0 if self.is_internal else self.first_byte)
        return max(size, 1) if has_address else size


def read_pool(entry: Any, entries: Collection[str], where: str) -> ArchivedPool:
    """Read a pool of metadata.json, in a module with these entries.

    Raises
    ------
    DamagedMetadata
        a value is missing, has the wrong type, or contradicts another value.
    """
    name = read_value(entry, "name", is_text, f"a pool of {where}")
    where = f'pool "{shown(name)}" of {where}'
    kind = read_value(entry, "kind", lambda value: value in ("workspace", "constant"), where)
    buffers = [
        _buffer(buffer, name, where)
        for buffer in read_value(entry, "buffers", lambda value: isinstance(value, list), where)
    ]
    live = read_value(entry, "live_at_peak", is_list_of(is_text), where)
    names = {buffer.name for buffer in buffers}
    if not names.issuperset(live):
        raise DamagedMetadata(f'{where} has no valid "live_at_peak"')
    if len(entries) > 1:
        read_value(
            entry,
            "entries_at_peak",
            is_list_of(lambda name: is_text(name) and name in entries),
            where,
        )
    for buffer in entry["buffers"]:
        if not names.issuperset(buffer["overlaps"]):
            raise DamagedMetadata(
                f'buffer "{shown(buffer["name"])}" of {where} has no valid "overlaps"'
            )
    if "io" in entry:
        read_value(entry, "io", lambda value: value in ("only", "no"), where)
    size = read_value(entry, "size_bytes", is_size, where)
    read_value(entry, "peak_bytes", lambda value: is_count(value) and value <= size, where)
    for buffer in buffers:
        if buffer.byte_offset + buffer.size_bytes > size:
            raise DamagedMetadata(
                f'{where} of {size} bytes does not hold buffer "{shown(buffer.name)}"'
            )
    return ArchivedPool(
        name,
        read_value(entry, "c_name", is_identifier, where),
        kind == "constant",
        read_value(entry, "internal", is_truth, where),
        read_value(entry, "size_hint_bytes", lambda value: value == -1 or is_count(value), where),
        size,
        read_value(entry, "alignment_bytes", lambda value: is_size(value) and value > 0, where),
        read_value(entry, "peak_bytes", is_count, where),
        read_value(entry, "memory_pressure_bytes", is_count, where),
        read_value(entry, "lower_bound_bytes", is_count, where),
        read_value(entry, "optimal", is_truth, where),
        live,
        buffers,
        *_place(entry, where),
    )


def _place(entry: Any, where: str) -> tuple[int, int | None]:
    """Return the offset in the memory at which the plan begins, and the address of the memory."""
    alignment = read_value(entry, "alignment_bytes", is_size, where)
    lines, offset, first, address = (
        read_value(entry, key, is_valid, where) if key in entry else 0
        for key, is_valid in (
            ("buffer_alignment_bytes", is_alignment),
            ("pool_offset_bytes", is_count),
            ("first_byte", is_count),
            ("address", is_count),
        )
    )
    is_aligned = (address + first) % alignment == 0 and (not lines or alignment % lines == 0)
    if entry["buffers"] and not (is_aligned and offset <= first):
        raise DamagedMetadata(f'{where} has no valid "first_byte"')
    return first, address if "address" in entry else None


def _buffer(entry: Any, pool: str, where: str) -> BufferPlace:
    name = read_value(entry, "name", is_text, f"a buffer of {where}")
    where = f'buffer "{shown(name)}" of {where}'
    read_value(entry, "live_ranges", is_list_of(is_range), where)
    overlaps = read_value(entry, "overlaps", lambda value: isinstance(value, dict), where)
    for overlap in overlaps.values():
        read_value(overlap, "shared", is_count, f"an overlap of {where}")
    place = BufferPlace(
        name,
        read_value(entry, "function", is_text, where),
        int(_KINDS[read_value(entry, "kind", lambda value: value in list(_KINDS), where)]),
        pool,
        read_value(entry, "offset", is_count, where),
        read_value(entry, "size", is_count, where),
        read_value(entry, "alignment", is_count, where),
    )
    read_value(entry, "identical", is_list_of(is_text), where)
    for overlap in overlaps.values():
        read_value(overlap, "distance", is_count, f"an overlap of {where}")
    return place
