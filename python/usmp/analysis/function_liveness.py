"""What the liveness analysis knows of one PrimFunc."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tvm import tirx

from usmp.analysis.access import MemoryUse

Span = tuple[int, int]
"""Half-open range of program positions."""


@dataclass
class FunctionLiveness:
    """What one call of a PrimFunc does to memory, in positions relative to its start."""

    number_of_parameters: int
    length: int = 0
    parameters: dict[int, Span] = field(default_factory=dict)
    parameter_use: dict[int, MemoryUse] = field(default_factory=dict)
    escaping_parameters: set[int] = field(default_factory=set)
    allocations: dict[tirx.AllocBuffer, list[Span]] = field(default_factory=dict)
    """In program order. Several spans where the enclosing PrimFunc is called several times."""
    allocation_use: dict[tirx.AllocBuffer, MemoryUse] = field(default_factory=dict)
    functions: dict[tirx.AllocBuffer, str] = field(default_factory=dict)
    """The name of the PrimFunc that an allocation stands in."""
    unplannable: set[tirx.AllocBuffer] = field(default_factory=set)
    """Allocations that several iterations may hold at the same time."""


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Sorted, disjoint, non-adjacent spans that cover the same positions."""
    merged: list[Span] = []
    for start, stop in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        else:
            merged.append((start, stop))
    return merged
