"""States of a model, with their places."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from math import prod

import numpy as np
from tvm_ffi.dataclasses import py_class

from usmp.objects.ffi_object import FFIObject
from usmp.plain.element_types import tensor_bytes
from usmp.plain.state_place import StatePlace

_DIGEST_BYTES = 8
MARKS = "marks "
"""The prefix of digests of names of states."""


@py_class("usmp.StateTensor")
class StateTensor(FFIObject):
    """The tensor of a state.

    Parameters
    ----------
    name
        name of the state.
    shape
        extents, outermost first.
    dtype
        name of the element type, as in numpy.
    initial_value
        a digest of its value before the first run (see `digest_of`); for a state that marks a first
        run, a digest of the states that this run sets (see `digest_of_names`); empty if unknown.
    """

    name: str
    shape: list[int]
    dtype: str
    initial_value: str = ""

    @property
    def size_bytes(self) -> int:
        """The size of the tensor, in bytes."""
        return tensor_bytes(self.shape, self.dtype)


@py_class("usmp.PlacedState", eq=True, unsafe_hash=True, frozen=True)
class PlacedState(FFIObject, StatePlace):
    """A state with its place: `StatePlace` as an attribute of a module."""


def digest_of(value: np.ndarray, shape: Sequence[int]) -> str:
    """Return a digest of an initial value; a scalar equals a tensor that is filled with it."""
    content, element = value.tobytes(), value.reshape(-1)[:1].tobytes()
    count = prod(shape)
    if value.ndim == 0 or content == element * count:
        content = element
    digest = hashlib.sha256(content)
    digest.update(f"{value.dtype} {list(map(int, shape))}".encode())
    return digest.hexdigest()[: 2 * _DIGEST_BYTES]


def digest_of_names(states: Iterable[str]) -> str:
    """Return a digest for a state that marks a first run, from the states that the run sets."""
    digest = hashlib.sha256(json.dumps(sorted(states)).encode())
    return f"{MARKS}{digest.hexdigest()[: 2 * _DIGEST_BYTES]}"
