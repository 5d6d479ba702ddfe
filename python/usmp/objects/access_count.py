"""How often memory is accessed, which the analysis counts and placement by cost reads."""

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
        whose functions do it; None if it is not stated.
    element_bytes
        bytes of one element.
    size_bytes
        consecutive bytes that each access moves: an element's, a vector's, or all of the
        buffer where a function outside of the module gets its address.
    reads, writes
        how many; upper bounds (see `usmp.analysis.access_counts`).
    """

    target: Target | None
    element_bytes: int
    size_bytes: int
    reads: int
    writes: int


AccessCounts: TypeAlias = Mapping[BufferInfo, Sequence[AccessCount]]
