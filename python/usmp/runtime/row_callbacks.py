"""Inputs that a model asks for row by row, and outputs that it gives so, from and to arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

NO_SUCH_ROW = 1
"""What callbacks return for a row that the array does not have."""

_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p)


@dataclass(frozen=True)
class TensorRows:
    """Which tensors an entry takes and gives by rows.

    Parameters
    ----------
    inputs, outputs
        bytes of a row, by position.
    """

    inputs: Mapping[int, int]
    outputs: Mapping[int, int]

    @classmethod
    def of(
        cls, inputs: Mapping[str, Mapping[str, Any]], outputs: Mapping[str, Mapping[str, Any]]
    ) -> TensorRows:
        """As metadata.json says.

        Parameters
        ----------
        inputs, outputs
            what it says of each tensor.
        """
        found = [
            {
                index: int(tensor["by_rows"]["row_size"])
                for index, tensor in enumerate(tensors.values())
                if "by_rows" in tensor
            }
            for tensors in (inputs, outputs)
        ]
        return cls(*found)


@dataclass
class TensorStruct:
    """A C struct of inputs or outputs: a pointer for each, or a callback and its context.

    Parameters
    ----------
    arrays
        the tensors.
    row_bytes
        of those that come or go by rows, by position.
    is_inputs
        whether callbacks read the arrays; else they write them.
    sizes
        symbolic sizes, which follow the pointers.
    """

    arrays: Sequence[np.ndarray]
    row_bytes: Mapping[int, int]
    is_inputs: bool
    sizes: Sequence[int] = ()
    _callbacks: dict[int, Any] = field(default_factory=dict)

    def members(self) -> list[int]:
        """The values of the members."""
        found = []
        for index, array in enumerate(self.arrays):
            if index not in self.row_bytes:
                found.append(array.ctypes.data)
                continue
            if index not in self._callbacks:
                self._callbacks[index] = self._callback(array, self.row_bytes[index])
            address = ctypes.cast(self._callbacks[index], ctypes.c_void_p).value
            assert address is not None
            found += [address, 0]
        return found

    def struct(self) -> ctypes.Structure:
        """The struct."""
        members = self.members()
        return self.type(len(members))(*members, *self.sizes)

    def type(self, pointers: int) -> type[ctypes.Structure]:
        """Its type, with so many pointers; C has no struct without members."""
        fields: list[tuple[str, Any]] = [(f"pointer_{i}", ctypes.c_void_p) for i in range(pointers)]
        fields += [(f"size_{index}", ctypes.c_int32) for index in range(len(self.sizes))]
        fields = fields or [("unused", ctypes.c_uint8)]
        return type("Tensors", (ctypes.Structure,), {"_fields_": fields})

    def _callback(self, array: np.ndarray, row_bytes: int) -> Any:
        """What moves a row; the next one has to be the one after the last."""
        expected = iter(range(array.nbytes // row_bytes))

        def move(_: int | None, row: int, data: int) -> int:
            if row != next(expected, None):
                return NO_SUCH_ROW
            place = array.ctypes.data + row * row_bytes
            to, source = (data, place) if self.is_inputs else (place, data)
            ctypes.memmove(to, source, row_bytes)
            return 0

        return _CALLBACK(move)


@contextmanager
def callbacks(
    rows: TensorRows,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    sizes: Sequence[int] = (),
) -> Iterator[tuple[TensorStruct, TensorStruct]]:
    """The structs of a run, whose callbacks live as long as it does."""
    yield (
        TensorStruct(inputs, rows.inputs, is_inputs=True, sizes=sizes),
        TensorStruct(outputs, rows.outputs, is_inputs=False),
    )
