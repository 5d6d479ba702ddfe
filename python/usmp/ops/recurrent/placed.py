"""Tensors of recurrent layers, whose axes come in the order that the model has them in."""

from __future__ import annotations

from dataclasses import dataclass

from tvm import relax, tirx


@dataclass(frozen=True)
class Placed:
    """A tensor and the meaning of its axes.

    Parameters
    ----------
    tensor
        or the type of one that is still to be written.
    axes
        a letter for each axis: t for steps, b for the rows of a batch, d for directions and layers,
        u for units or features.
    direction
        the place on the axis d, if there is one.
    """

    tensor: relax.Expr | relax.TensorType
    axes: str
    direction: int = 0

    @property
    def is_to_be_made(self) -> bool:
        """Whether the tensor is still to be written."""
        return isinstance(self.tensor, relax.TensorType)

    @property
    def type(self) -> relax.TensorType:
        """The type of the tensor."""
        tensor = self.tensor
        return tensor if isinstance(tensor, relax.TensorType) else tensor.ty

    def extent(self, axis: str) -> int:
        """How many steps, rows, directions or units there are; 1 without such an axis."""
        if axis not in self.axes:
            return 1
        return int(self.type.shape[self.axes.index(axis)])


@dataclass(frozen=True)
class Row:
    """The elements of a tensor along u, at one place of all other axes."""

    buffer: tirx.Buffer
    axes: str
    place: dict[str, tirx.Expr]

    def _indices(self, u: tirx.Expr) -> list[tirx.Expr]:
        return [u if axis == "u" else self.place[axis] for axis in self.axes]

    def load(self, u: tirx.Expr) -> tirx.Expr:
        """The u-th element."""
        element: tirx.Expr = self.buffer[tuple(self._indices(u))]
        return element

    def store(self, value: tirx.Expr, u: tirx.Expr) -> tirx.Stmt:
        """Set the u-th element."""
        return tirx.BufferStore(self.buffer, value, self._indices(u))
