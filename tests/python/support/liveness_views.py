"""What the liveness analysis found, as plain sets and lists for exact comparison."""

from __future__ import annotations

from usmp.analysis.memory.facts import analyze_liveness
from usmp.analysis.memory.function_liveness import PositionRange


def ranges(mod) -> dict[str, list[PositionRange]]:
    """The ranges of each allocation, by name."""
    allocations = analyze_liveness("main", mod).allocations
    assert len({stmt.buffer.name for stmt in allocations}) == len(allocations)
    return {stmt.buffer.name: live for stmt, live in allocations.items()}


def unplannable(mod) -> set[str]:
    """The allocations that several iterations may hold at the same time, by name."""
    return {stmt.buffer.name for stmt in analyze_liveness("main", mod).unplannable}


def parameters(mod) -> dict[int, PositionRange]:
    """The span of each parameter of `main` that is accessed, by index."""
    return analyze_liveness("main", mod).parameters
