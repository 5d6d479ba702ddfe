"""Live bytes of tensors at the calls of `__tvm_main__`."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from itertools import accumulate

from tvm import tirx

from usmp.analysis.memory.buffer_size import size_bytes
from usmp.aot.main_calls import MainCalls


@dataclass(frozen=True)
class LiveBytes:
    """The bytes of tensors that are live at each call.

    Parameters
    ----------
    sizes
        counted tensor -> its size in bytes.
    kept
        tensors that stay live after the last call.
    throughout
        tensors that are live at all calls.
    mentions
        tensor that is no view -> positions of the calls that take the tensor or a view of it.
    changes
        change of the live bytes from the previous call, for each position.
    """

    sizes: dict[tirx.Buffer, int]
    kept: Set[tirx.Buffer]
    throughout: Set[tirx.Buffer]
    mentions: dict[tirx.Buffer, frozenset[int]]
    changes: list[int]

    @staticmethod
    def of(
        calls: MainCalls,
        counted: Set[tirx.Buffer],
        kept: Set[tirx.Buffer],
        throughout: Set[tirx.Buffer] = frozenset(),
    ) -> LiveBytes:
        """Return the live bytes of the tensors in `counted`, without those of symbolic size."""
        mentions: dict[tirx.Buffer, set[int]] = {}
        for position, call in enumerate(calls.calls):
            for buffer in call.arguments:
                mentions.setdefault(calls.root(buffer)[0], set()).add(position)
        static = {b for b in mentions.keys() & counted if isinstance(b.shape[0], tirx.IntImm)}
        sizes = {buffer: size_bytes(buffer) for buffer in static}
        live = LiveBytes(sizes, kept, throughout, {}, [0] * (len(calls.calls) + 1))
        for buffer, positions in mentions.items():
            live.mentions[buffer] = frozenset(positions)
            live._add(buffer, 1)
        return live

    def merged(self, inner: tirx.Buffer, whole: tirx.Buffer, position: int) -> LiveBytes:
        """Return the live bytes with `inner` in `whole`, without the call at `position`. The
        position of the call stays, but no more bytes are live there than at its neighbors."""
        after = replace(self, mentions=dict(self.mentions), changes=list(self.changes))
        for buffer in (inner, whole):
            after._add(buffer, -1)
        after.mentions[whole] = (after.mentions.pop(inner) | after.mentions[whole]) - {position}
        after._add(whole, 1)
        return after

    def peak(self) -> int:
        """Return the peak of the live bytes."""
        return max(accumulate(self.changes))

    def _add(self, buffer: tirx.Buffer, times: int) -> None:
        positions = self.mentions[buffer]
        if buffer in self.sizes and positions:
            always = buffer in self.throughout
            first = 0 if always else min(positions)
            last = len(self.changes) - 2 if always or buffer in self.kept else max(positions)
            self.changes[first] += times * self.sizes[buffer]
            self.changes[last + 1] -= times * self.sizes[buffer]
