"""What a user must know of a model's input or output, as attributes of its main function."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tvm_ffi.dataclasses import field, py_class

from usmp.objects.ffi_object import FFIObject
from usmp.plain.tensor import Tensor
from usmp.support.unique_names import names_apart


@py_class("usmp.TensorInfo", frozen=True)
class TensorInfo(FFIObject, Tensor):
    """A model input or output: a `Tensor`, and what only the planner needs of it.

    Parameters
    ----------
    symbolic_shape
        the extents as expressions of the variables of the symbolic sizes, if some depend on them;
        else empty.
    is_updated
        whether it is an input that the run updates in place, so that it is read and written.
    """

    symbolic_shape: list[Any] = field(default_factory=list)
    is_updated: bool = False


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
