"""The safe overlaps that a plan uses, and the bytes that buffers share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from usmp.objects import BufferInfo, PlacedBuffer, PoolAllocation


def used_overlaps(
    buffers: Sequence[BufferInfo], plan: Mapping[BufferInfo, PoolAllocation]
) -> dict[BufferInfo, dict[BufferInfo, int]]:
    """Return for each buffer the buffers whose bytes it overwrites while both are live.

    Parameters
    ----------
    buffers
        the buffers that are placed.
    plan
        the place of each buffer, in a sound plan.

    Returns
    -------
    dict[BufferInfo, dict[BufferInfo, int]]
        For each buffer the safe distance in bytes of each buffer that it overwrites, in the order
        of `buffers`."""
    index = {buffer: number for number, buffer in enumerate(buffers)}

    def is_used(output: BufferInfo, dying: BufferInfo, distance: int) -> bool:
        if dying not in index:
            return False
        below, above = plan[output], plan[dying]
        apart = above.byte_offset - below.byte_offset
        return (
            str(below.pool_info.pool_name) == str(above.pool_info.pool_name)
            and distance <= apart < output.size_bytes
            and apart > -dying.size_bytes
            and _are_live_together(output, dying)
        )

    return {
        output: {
            dying: int(distance)
            for dying, distance in sorted(
                output.overlaps.items(), key=lambda item: index.get(item[0], -1)
            )
            if is_used(output, dying, int(distance))
        }
        for output in buffers
    }


def _are_live_together(a: BufferInfo, b: BufferInfo) -> bool:
    return a.is_live_with(b) or b in a.conflicts or a in b.conflicts


def shared_bytes(a: PlacedBuffer, b: PlacedBuffer) -> int:
    """Return the number of bytes that two buffers of one pool share."""
    end = min(a.byte_offset + a.size_bytes, b.byte_offset + b.size_bytes)
    return max(0, end - max(a.byte_offset, b.byte_offset))
