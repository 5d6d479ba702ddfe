"""Callbacks that stream inputs and outputs row by row, from and to arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

NO_SUCH_ROW = 1
"""Status that a callback returns for an unexpected row."""

_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p)


@dataclass(frozen=True)
class TensorRows:
    """The tensors of an entry that are streamed by rows.

    Parameters
    ----------
    inputs, outputs
        bytes of a row, by the index of the tensor.
    """

    inputs: Mapping[int, int]
    outputs: Mapping[int, int]

    @classmethod
    def of(
        cls, inputs: Mapping[str, Mapping[str, Any]], outputs: Mapping[str, Mapping[str, Any]]
    ) -> TensorRows:
        """Construct the rows from the tensors in metadata.json.

        Parameters
        ----------
        inputs, outputs
            values of the tensors by name.
        """
        rows = [
            {
                index: int(tensor["by_rows"]["row_size"])
                for index, tensor in enumerate(tensors.values())
                if "by_rows" in tensor
            }
            for tensors in (inputs, outputs)
        ]
        return cls(*rows)


@dataclass
class TensorStruct:
    """A C struct of inputs or outputs: a pointer for each tensor, or a callback and its context.

    Parameters
    ----------
    arrays
        arrays of the tensors.
    row_bytes
        bytes of a row of streamed tensors, by index.
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
        """Return the values of the pointer members."""
        values = []
        for index, array in enumerate(self.arrays):
            if index not in self.row_bytes:
                values.append(array.ctypes.data)
                continue
            if index not in self._callbacks:
                self._callbacks[index] = self._callback(array, self.row_bytes[index])
            address = ctypes.cast(self._callbacks[index], ctypes.c_void_p).value
            assert address is not None
            values += [address, 0]
        return values

    def struct(self) -> ctypes.Structure:
        """Return the C struct of the pointers, callbacks and sizes."""
        members = self.members()
        return self.type(len(members))(*members, *self.sizes)

    def type(self, pointers: int) -> type[ctypes.Structure]:
        """Return the type of the struct, with a dummy member if empty, because C needs a member."""
        fields: list[tuple[str, Any]] = [(f"pointer_{i}", ctypes.c_void_p) for i in range(pointers)]
        fields += [(f"size_{index}", ctypes.c_int32) for index in range(len(self.sizes))]
        fields = fields or [("unused", ctypes.c_uint8)]
        return type("Tensors", (ctypes.Structure,), {"_fields_": fields})

    def _callback(self, array: np.ndarray, row_bytes: int) -> Any:
        """Return a callback that copies a row. Rows must be requested in order."""
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
    """Yield the structs of the inputs and outputs of a run, which own their callbacks."""
    yield (
        TensorStruct(inputs, rows.inputs, is_inputs=True, sizes=sizes),
        TensorStruct(outputs, rows.outputs, is_inputs=False),
    )
