"""A tensor that an application gives or takes."""

from __future__ import annotations

from dataclasses import dataclass

from usmp.plain.element_types import tensor_bytes


@dataclass(frozen=True)
class Tensor:
    """What a user must know of a model's input or output to pass it.

    Parameters
    ----------
    name
        the tensor's name in the model, unchanged.
    shape
        extents, outermost first; where they depend on symbolic sizes, those at the upper bounds. A
        size without an upper bound counts with its lower one: such a shape says how many axes there
        are, and not how many bytes.
    dtype
        element type as numpy writes it, for instance "int8".
    scale, zero_point
        of integers that stand for real numbers,
        real = scale * (integer - zero_point); both None for other tensors. A scale is a value of
        float32.
    """

    name: str
    shape: list[int]
    dtype: str
    scale: float | None = None
    zero_point: int | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes that the tensor takes."""
        return tensor_bytes(self.shape, self.dtype)

    @property
    def rows(self) -> int:
        """The extent of the outermost axis that is longer than 1: rows of an image, or frames of a
        window of time. What is given row by row has so many; 1 if no axis is longer."""
        return next((int(extent) for extent in self.shape if int(extent) > 1), 1)

    @property
    def row_size_bytes(self) -> int:
        """Bytes of each of the rows, which lie one after the other."""
        return self.size_bytes // self.rows
