"""What a model keeps between runs, and where."""

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
"""What the digest of names of states begins with."""


@py_class("usmp.StateTensor")
class StateTensor(FFIObject):
    """What is in the bytes of a state.

    Parameters
    ----------
    name
        its name.
    shape
        extents, outermost first.
    dtype
        element type as numpy writes it.
    initial_value
        a digest of its value before the first run, see `digest_of`, or of the states whose first
        run it marks, see `digest_of_names`; empty if it is not known.
    """

    name: str
    shape: list[int]
    dtype: str
    initial_value: str = ""

    @property
    def size_bytes(self) -> int:
        """Bytes that it takes."""
        return tensor_bytes(self.shape, self.dtype)


@py_class("usmp.PlacedState", eq=True, unsafe_hash=True, frozen=True)
class PlacedState(FFIObject, StatePlace):
    """A state, and its bytes: `StatePlace` as an attribute of a module."""


def digest_of(value: np.ndarray, shape: Sequence[int]) -> str:
    """A digest of an initial value: for one element the same as for a tensor that is full of it."""
    content, element = value.tobytes(), value.reshape(-1)[:1].tobytes()
    count = prod(shape)
    if value.ndim == 0 or content == element * count:
        content = element
    digest = hashlib.sha256(content)
    digest.update(f"{value.dtype} {list(map(int, shape))}".encode())
    return digest.hexdigest()[: 2 * _DIGEST_BYTES]


def digest_of_names(states: Iterable[str]) -> str:
    """What stands for the initial value of a state that marks a first run: which states that run
    sets, in any order."""
    digest = hashlib.sha256(json.dumps(sorted(states)).encode())
    return f"{MARKS}{digest.hexdigest()[: 2 * _DIGEST_BYTES]}"
