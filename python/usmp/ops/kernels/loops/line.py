"""Elements of a buffer that follow each other, and pixels at a distance in them."""

from __future__ import annotations

from dataclasses import dataclass

from tvm import tirx


@dataclass(frozen=True)
class Line:
    """Elements of a buffer from some indices on, and how far pixels are from each other.

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
        """The line from some pixels later on."""
        return self.from_element(pixels * self.distance)

    def from_element(self, offset: tirx.Expr | int) -> Line:
        """The line from the element `offset` elements later on."""
        return Line(self.buffer, self._indices(offset), self.distance)

    def at(self, offset: tirx.Expr | int) -> tirx.Expr:
        """The element `offset` elements later."""
        element: tirx.Expr = self.buffer[self._indices(offset)]
        return element

    def store(self, offset: tirx.Expr, value: tirx.Expr) -> tirx.Stmt:
        """Store the element `offset` elements later."""
        return tirx.BufferStore(self.buffer, value, list(self._indices(offset)))

    def _indices(self, offset: tirx.Expr | int) -> tuple[tirx.Expr, ...]:
        *outer, last = self.indices
        return (*outer, last + offset)
