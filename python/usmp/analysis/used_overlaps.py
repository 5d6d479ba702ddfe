"""Which safe overlaps a plan makes use of, and for how many bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from usmp.objects import BufferInfo, PlacedBuffer, PoolAllocation


def used_overlaps(
    buffers: Sequence[BufferInfo], plan: Mapping[BufferInfo, PoolAllocation]
) -> dict[BufferInfo, dict[BufferInfo, int]]:
    """For each buffer, those of which it takes bytes in this plan while both are live.

    Parameters
    ----------
    buffers
        what is placed.
    plan
        where, and soundly so.

    Returns
    -------
    dict[BufferInfo, dict[BufferInfo, int]]
        For each buffer those that it overwrites, in the order of `buffers`, with the safe distance
        in bytes."""
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
    """How many bytes two buffers of one pool have in common."""
    end = min(a.byte_offset + a.size_bytes, b.byte_offset + b.size_bytes)
    return max(0, end - max(a.byte_offset, b.byte_offset))
