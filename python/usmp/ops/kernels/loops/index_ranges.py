"""Output rows and columns that need no guard, because their kernel windows lie in the data."""

from __future__ import annotations

from dataclasses import dataclass

from tvm import tirx

from usmp.ops.window import Window


@dataclass(frozen=True)
class IndexRange:
    """A half-open range of output rows or columns: from `first` up to `end` - 1."""

    first: int
    end: int


def inner_range(window: Window, side: int) -> IndexRange:
    """Return the output rows (side 0) or columns (side 1) whose windows lie in the data."""
    stride, padding, data = window.strides[side], window.padding[side], window.data[side]
    reach = (window.kernel[side] - 1) * window.dilations[side]
    first = max(0, -(-padding // stride))
    end = min((data - 1 - reach + padding) // stride + 1, window.output[side])
    return IndexRange(min(first, window.output[side]), max(end, min(first, window.output[side])))


def within(index: tirx.Expr, bounds: IndexRange, end: int, first: int = 0) -> list[tirx.Expr]:
    """Return conditions that place an index, known to be in [`first`, `end`), in the range."""
    return [
        *([index >= bounds.first] if bounds.first > first else []),
        *([index < bounds.end] if bounds.end < end else []),
    ]
