"""An input or output of a model."""

from __future__ import annotations

from dataclasses import dataclass

from usmp.plain.element_types import tensor_bytes


@dataclass(frozen=True)
class Tensor:
    """Name, shape and type of a model's input or output.

    Parameters
    ----------
    name
        name of the tensor in the model, unchanged.
    shape
        extents, outermost first, at the upper bounds of symbolic sizes. An unbounded size is at its
        lower bound; only the number of axes of such a shape is meaningful.
    dtype
        element type as numpy writes it, for instance "int8".
    scale, zero_point
        quantization: real = scale * (integer - zero_point); both None for other tensors. A scale is
        a float32 value.
    """

    name: str
    shape: list[int]
    dtype: str
    scale: float | None = None
    zero_point: int | None = None

    @property
    def size_bytes(self) -> int:
        """Size of the tensor in bytes."""
        return tensor_bytes(self.shape, self.dtype)

    @property
    def rows(self) -> int:
        """Number of rows: the extent of the outermost axis that is longer than 1, as rows of an
        image or frames of a window of time; 1 if there is none."""
        return next((int(extent) for extent in self.shape if int(extent) > 1), 1)

    @property
    def row_size_bytes(self) -> int:
        """Size of a row in bytes; rows are contiguous."""
        return self.size_bytes // self.rows
