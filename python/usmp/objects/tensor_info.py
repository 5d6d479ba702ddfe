"""What a user must know of a model's input or output to pass it: name, shape, element type, and
what its integers stand for."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import tvm
from tvm_ffi.dataclasses import field, py_class

from usmp.objects.ffi_object import FFIObject
from usmp.support.unique_names import names_apart


@py_class("usmp.TensorInfo")
class TensorInfo(FFIObject):
    """A model input or output.

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
    symbolic_shape
        the extents as expressions of the variables of the symbolic sizes, if some depend on them;
        else empty.
    is_updated
        whether it is an input that the run updates in place, so that it is read and written.
    """

    name: str
    shape: list[int]
    dtype: str
    scale: float | None = None
    zero_point: int | None = None
    symbolic_shape: list[Any] = field(default_factory=list)
    is_updated: bool = False

    @property
    def size_bytes(self) -> int:
        """Bytes that the tensor takes."""
        return int(prod(self.shape) * tvm.DataType(self.dtype).itemsize)

    @property
    def rows(self) -> int:
        """The extent of the outermost axis that is longer than 1: rows of an image, or frames of a
        window of time. What is given row by row has so many; 1 if no axis is longer."""
        return next((int(extent) for extent in self.shape if int(extent) > 1), 1)

    @property
    def row_size_bytes(self) -> int:
        """Bytes of each of the rows, which lie one after the other."""
        return self.size_bytes // self.rows


def default_output_names(count: int, taken: Iterable[str] = ()) -> list[str]:
    """Return names for outputs that have none, in order, as TVM 0.18 called them.

    Parameters
    ----------
    count
        how many outputs there are.
    taken
        the names of the inputs, none of which begins with the name of an output.
    """
    stem, names = "output", list(taken)
    while any(name.startswith(stem) for name in names):
        stem += "_"
    return [stem] if count == 1 else [f"{stem}{index}" for index in range(count)]


def place_names(inputs: Iterable[TensorInfo], outputs: Iterable[TensorInfo]) -> list[str]:
    """The names of the buffers of inputs and outputs in the workspace, inputs first: an output
    that has the name of an input, or is one, gets a number."""
    return names_apart([tensor.name for tensor in [*inputs, *outputs]])
