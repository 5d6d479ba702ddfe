"""Tensors of recurrent layers, with their axes in the order of the model."""

from __future__ import annotations

from dataclasses import dataclass

from tvm import relax, tirx


@dataclass(frozen=True)
class Placed:
    """A tensor and the meaning of its axes.

    Parameters
    ----------
    tensor
        a tensor, or the type of a tensor that is still to be created.
    axes
        a letter for each axis: t for steps, b for the rows of a batch, d for directions and layers,
        u for units or features.
    direction
        index on the axis d, if there is one.
    """

    tensor: relax.Expr | relax.TensorType
    axes: str
    direction: int = 0

    @property
    def is_to_be_made(self) -> bool:
        """Whether the tensor is still to be created."""
        return isinstance(self.tensor, relax.TensorType)

    @property
    def type(self) -> relax.TensorType:
        """The type of the tensor."""
        tensor = self.tensor
        return tensor if isinstance(tensor, relax.TensorType) else tensor.ty

    def extent(self, axis: str) -> int:
        """Return the extent of an axis; 1 if the tensor has no such axis."""
        if axis not in self.axes:
            return 1
        return int(self.type.shape[self.axes.index(axis)])


@dataclass(frozen=True)
class Row:
    """The elements of a tensor along u, at one position on all other axes."""

    buffer: tirx.Buffer
    axes: str
    place: dict[str, tirx.Expr]

    def _indices(self, u: tirx.Expr) -> list[tirx.Expr]:
        return [u if axis == "u" else self.place[axis] for axis in self.axes]

    def load(self, u: tirx.Expr) -> tirx.Expr:
        """Return the u-th element."""
        element: tirx.Expr = self.buffer[tuple(self._indices(u))]
        return element

    def store(self, value: tirx.Expr, u: tirx.Expr) -> tirx.Stmt:
        """Return a statement that sets the u-th element."""
        return tirx.BufferStore(self.buffer, value, self._indices(u))
