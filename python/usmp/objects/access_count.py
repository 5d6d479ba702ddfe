"""Numbers of accesses to memory, which an analysis counts and placement by cost reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tvm.target import Target

from usmp.objects.buffers import BufferInfo


@dataclass(frozen=True)
class AccessCount:
    """Accesses of one kind to one buffer, over all calls of a run.

    Parameters
    ----------
    target
        the target of the accessing functions; None if it is unknown.
    element_bytes
        bytes of one element.
    size_bytes
        consecutive bytes that each access moves: an element, a vector, or the whole buffer where a
        function outside of the module gets its address.
    reads, writes
        numbers of accesses, by the rules of `usmp.analysis.access_counts`.
    """

    target: Target | None
    element_bytes: int
    size_bytes: int
    reads: int
    writes: int


AccessCounts: TypeAlias = Mapping[BufferInfo, Sequence[AccessCount]]
