"""Runs of consecutive elements of a buffer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tvm import tirx

from usmp.ops.kernels.loops.loops import loop
from usmp.tir.tensor_intrin import tensor_intrin


@dataclass(frozen=True)
class Line:
    """Consecutive elements of a buffer, which belong to pixels at equal distances.

    Parameters
    ----------
    buffer, indices
        the first element.
    distance
        elements from one pixel to the next.
    """

    buffer: tirx.Var
    indices: tuple[tirx.Expr, ...]
    distance: int

    def moved(self, pixels: tirx.Expr | int) -> Line:
        """Return the line that begins `pixels` pixels later."""
        return self.from_element(pixels * self.distance)

    def from_element(self, offset: tirx.Expr | int) -> Line:
        """Return the line that begins `offset` elements later."""
        return Line(self.buffer, self._indices(offset), self.distance)

    def at(self, offset: tirx.Expr | int) -> tirx.Expr:
        """Return the element at `offset` elements from the first one."""
        element: tirx.Expr = self.buffer[self._indices(offset)]
        return element

    def store(self, offset: tirx.Expr, value: tirx.Expr) -> tirx.Stmt:
        """Return the store of the element at `offset` elements from the first one."""
        return tirx.BufferStore(self.buffer, value, list(self._indices(offset)))

    def _indices(self, offset: tirx.Expr | int) -> tuple[tirx.Expr, ...]:
        *outer, last = self.indices
        return (*outer, last + offset)


def element_wise(
    function: str,
    lines: Sequence[Line],
    output: Line,
    count: int,
    more: Sequence[tirx.Expr | int],
    value: Callable[..., tirx.Expr],
) -> tirx.Stmt:
    """Store consecutive elements, each computed from one element of each line.

    Parameters
    ----------
    function, more
        the tensor intrinsic, and its arguments after lines, output and count.
    value
        returns the value to store, from an element of each line.
    """

    def element(i: tirx.Expr) -> tirx.Stmt:
        return output.store(i, value(*(line.at(i) for line in lines)))

    arguments = [*(line.at(0) for line in lines), output.at(0), count, *more]
    return tensor_intrin(function, arguments, loop("i", count, element))
