"""What a model keeps between runs, and where."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from math import prod

import numpy as np
import tvm
from tvm_ffi.dataclasses import py_class

from usmp.objects.ffi_object import FFIObject
from usmp.support.plain_text import shown

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


@py_class("usmp.PlacedState", eq=True, unsafe_hash=True)
class PlacedState(FFIObject):
    """A state, and its bytes.

    Parameters
    ----------
    name, shape, dtype, initial_value
        as in `StateTensor`.
    pool_name
        the pool that holds it.
    byte_offset, size_bytes
        its bytes in the pool.
    alignment
        bytes of which the offset had to be a multiple.
    """

    name: str
    shape: list[int]
    dtype: str
    pool_name: str
    byte_offset: int
    size_bytes: int
    alignment: int = 1
    initial_value: str = ""


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


def described_state(state: PlacedState | StateTensor) -> str:
    """Element type and shape, as errors show them."""
    return f"{shown(state.dtype)}[{', '.join(str(extent) for extent in state.shape)}]"


def check_places(states: Iterable[PlacedState]) -> None:
    """Check that places are such as a plan can have.

    Parameters
    ----------
    states
        in the order of pools, and of bytes in each.

    Raises
    ------
    ValueError
        a name that is missing or comes twice, a size that is not that of the elements, or
        places that overlap, begin below 0, are not aligned, or end beyond 63 bits.
    """
    seen: set[str] = set()
    listed = list(states)
    for state in listed:
        name = shown(state.name)
        if not state.name or not state.pool_name:
            raise ValueError("a state or a pool has no name")
        if str(state.name) in seen:
            raise ValueError(f'state "{name}" comes twice')
        seen.add(str(state.name))
        _check_place(state, f'state "{name}"')
    _check_overlaps(listed)


def _check_place(state: PlacedState, what: str) -> None:
    alignment, offset, size = state.alignment, state.byte_offset, state.size_bytes
    if any(extent < 0 for extent in state.shape) or size != tensor_bytes(state.shape, state.dtype):
        raise ValueError(f"{what} is {described_state(state)}, which are not {size} bytes")
    if alignment < 1 or alignment & (alignment - 1):
        raise ValueError(f"the alignment of {what} must be a power of two, not {alignment}")
    if offset < 0 or offset % alignment:
        raise ValueError(
            f"{what} cannot be at byte {offset}, which must be a multiple of {alignment}, 0 or more"
        )
    if offset + size >= 1 << 63:
        raise ValueError(f"{what} would end at byte {offset + size}, beyond 63 bits")


def tensor_bytes(shape: Sequence[int], dtype: str) -> int:
    """Bytes of a tensor.

    Raises
    ------
    ValueError
        the element type is unknown.
    """
    try:
        return int(prod(shape) * tvm.DataType(str(dtype)).itemsize)
    except (ValueError, TypeError, RuntimeError) as error:
        raise ValueError(f'"{shown(dtype)}" is no element type') from error


def _check_overlaps(states: Iterable[PlacedState]) -> None:
    """Check that no two share a byte; they come in the order of their places."""
    before: PlacedState | None = None
    for state in states:
        if not state.size_bytes:
            continue
        if before is not None and str(before.pool_name) == str(state.pool_name):
            end = before.byte_offset + before.size_bytes
            if state.byte_offset < end:
                raise ValueError(
                    f'states "{shown(before.name)}" (bytes {before.byte_offset} to {end - 1}) and '
                    f'"{shown(state.name)}" (from byte {state.byte_offset}) of pool '
                    f'"{shown(state.pool_name)}" overlap'
                )
        before = state
