"""Copies of buffers with other candidate pools."""

from __future__ import annotations

from collections.abc import Sequence

from usmp.objects import BufferInfo, PoolInfo


class Candidates:
    """A factory of copies of buffers, with conflicts and overlaps among the copies.

    Parameters
    ----------
    buffers
        the buffers to copy; their conflicts with other buffers are left out, because
        those buffers are not placed.
    """

    def __init__(self, buffers: Sequence[BufferInfo]) -> None:
        self.buffers = buffers
        index = {buffer: number for number, buffer in enumerate(buffers)}
        self._conflicts = [
            [index[other] for other in buffer.conflicts if other in index] for buffer in buffers
        ]
        self._overlaps = [
            {index[other]: bytes_ for other, bytes_ in buffer.overlaps.items() if other in index}
            for buffer in buffers
        ]

    def copies(self, candidates: Sequence[Sequence[PoolInfo]]) -> list[BufferInfo]:
        """Return a copy of each buffer, in their order, with these candidate pools."""
        copies = [
            buffer.copy_with(pool_candidates=pools)
            for buffer, pools in zip(self.buffers, candidates, strict=True)
        ]
        for copy, conflicts, overlaps in zip(copies, self._conflicts, self._overlaps, strict=True):
            copy.set_conflicts([copies[other] for other in conflicts])
            if overlaps:
                copy.set_overlaps({copies[other]: n for other, n in overlaps.items()})
        return copies
