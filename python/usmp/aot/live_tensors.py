"""How many bytes of tensors live through the calls of `__tvm_main__`."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from itertools import accumulate

import tvm
from tvm import tirx

from usmp.aot.main_calls import MainCalls, elements


@dataclass(frozen=True)
class LiveBytes:
    """The bytes of tensors that live through each call.

    Parameters
    ----------
    sizes
        tensors that count -> their bytes.
    kept
        those that live on after the last call.
    throughout
        those that live before the first call too.
    mentions
        tensors that lie in no other one -> the positions of the calls that take them, or what
        lies in them.
    changes
        by position, how many bytes more are live than at the one before.
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
        """Those of the tensors in `counted`, but for those of symbolic size."""
        mentions: dict[tirx.Buffer, set[int]] = {}
        for position, call in enumerate(calls.calls):
            for buffer in call.arguments:
                mentions.setdefault(calls.root(buffer)[0], set()).add(position)
        static = {b for b in mentions.keys() & counted if isinstance(b.shape[0], tirx.IntImm)}
        sizes = {buffer: _size_bytes(buffer) for buffer in static}
        live = LiveBytes(sizes, kept, throughout, {}, [0] * (len(calls.calls) + 1))
        for buffer, positions in mentions.items():
            live.mentions[buffer] = frozenset(positions)
            live._add(buffer, 1)
        return live

    def merged(self, inner: tirx.Buffer, whole: tirx.Buffer, position: int) -> LiveBytes:
        """With `inner` in `whole`, and without the call at `position`. At the gap that it leaves no
        more is live than at the calls beside it."""
        after = replace(self, mentions=dict(self.mentions), changes=list(self.changes))
        for buffer in (inner, whole):
            after._add(buffer, -1)
        after.mentions[whole] = (after.mentions.pop(inner) | after.mentions[whole]) - {position}
        after._add(whole, 1)
        return after

    def peak(self) -> int:
        """The most bytes that live through one call."""
        return max(accumulate(self.changes))

    def _add(self, buffer: tirx.Buffer, times: int) -> None:
        positions = self.mentions[buffer]
        if buffer in self.sizes and positions:
            always = buffer in self.throughout
            first = 0 if always else min(positions)
            last = len(self.changes) - 2 if always or buffer in self.kept else max(positions)
            self.changes[first] += times * self.sizes[buffer]
            self.changes[last + 1] -= times * self.sizes[buffer]


def _size_bytes(buffer: tirx.Buffer) -> int:
    return elements(buffer) * int(tvm.DataType(str(buffer.dtype)).itemsize)
