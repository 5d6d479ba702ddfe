"""Inputs and outputs of a model, as attributes of its main function."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tvm_ffi.dataclasses import field, py_class

from usmp.objects.ffi_object import FFIObject
from usmp.plain.tensor import Tensor
from usmp.support.text.unique_names import names_apart


@py_class("usmp.TensorInfo", frozen=True)
class TensorInfo(FFIObject, Tensor):
    """A model input or output: a `Tensor` with facts for the planner.

    Parameters
    ----------
    symbolic_shape
        the extents as expressions of symbolic sizes; empty if the shape is constant.
    is_updated
        whether the tensor is an input that the run updates in place.
    """

    symbolic_shape: list[Any] = field(default_factory=list)
    is_updated: bool = False


def default_output_names(count: int, taken: Iterable[str] = ()) -> list[str]:
    """Return names for outputs without names, in order, as in TVM 0.18.

    Parameters
    ----------
    count
        number of outputs.
    taken
        names of the inputs; no returned name is a prefix of one of them.
    """
    stem, names = "output", list(taken)
    while any(name.startswith(stem) for name in names):
        stem += "_"
    return [stem] if count == 1 else [f"{stem}{index}" for index in range(count)]


def place_names(inputs: Iterable[TensorInfo], outputs: Iterable[TensorInfo]) -> list[str]:
    """Return the names of workspace buffers of inputs and outputs, inputs first. An output that
    has the name of an input, or is an input, gets a number."""
    return names_apart([tensor.name for tensor in [*inputs, *outputs]])
