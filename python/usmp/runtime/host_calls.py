"""Call the entry points of a loaded library, by C or by tvm-ffi."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from usmp.runtime.arena import HostArena
from usmp.runtime.row_callbacks import TensorRows, TensorStruct, callbacks


class EntryPoints(Protocol):
    """The functions of one entry of a model in a library.

    Inputs, outputs, pools and symbolic sizes are in the order of the model. A run writes to
    outputs, pools and updated inputs.
    """

    def run(
        self,
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
        pools: Sequence[np.ndarray],
        sizes: Sequence[int] = (),
    ) -> int:
        """Run once, and return the status, which is 0 on success."""

    def reset(self, pools: Sequence[np.ndarray]) -> None:
        """Reset the state of the model."""


class CInterface:
    """The C functions of an entry whose inputs and outputs are memory of the application.

    Parameters
    ----------
    library
        the loaded library.
    prefix
        prefix of the functions of the entry.
    module_prefix
        prefix of the functions that all entries share.
    devices
        number of accelerators with functions, whose handles are null.
    rows
        streamed tensors and their rows; by default no tensor is streamed.
    arena
        arena that `run` takes as the last argument, if any.
    updated
        indices of the inputs that a run updates in place.

    Raises
    ------
    AttributeError
        the library lacks `run`.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        prefix: str,
        module_prefix: str,
        devices: int = 0,
        rows: TensorRows | None = None,
        arena: HostArena | None = None,
        updated: Sequence[int] = (),
    ) -> None:
        self._updated = updated
        self._rows = rows or TensorRows({}, {})
        self._library, self._prefix, self._module_prefix = library, prefix, module_prefix
        self._last: list[Any] = [(ctypes.c_void_p * devices)()] if devices else []
        self._last += [] if arena is None else [arena.argument]
        self._run = library[f"{prefix}_run"]
        self._run.restype = ctypes.c_int32

    def run(
        self,
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
        pools: Sequence[np.ndarray],
        sizes: Sequence[int] = (),
    ) -> int:
        """Call `run(inputs, outputs[, workspace_pools][, devices][, arena])`."""
        with callbacks(self._rows, inputs, outputs, sizes) as (in_struct, out_struct):
            tensors = map(ctypes.byref, (in_struct.struct(), out_struct.struct()))
            return int(self._run(*tensors, *_pool_struct(pools), *self._last))

    def reset(self, pools: Sequence[np.ndarray]) -> None:
        """Call `reset([workspace_pools])`."""
        reset = self._library[f"{self._module_prefix}_reset"]
        reset.restype = None
        reset(*_pool_struct(pools))


class WorkspaceIOInterface(CInterface):
    """The C functions of an entry whose inputs and outputs are in the workspace. They are copied
    to and from the addresses that `map_inputs` and `map_outputs` return."""

    def run(
        self,
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
        pools: Sequence[np.ndarray],
        sizes: Sequence[int] = (),
    ) -> int:
        """Copy the inputs in, call `run([inputs][, outputs][, workspace_pools][, devices][,
        arena])` with the structs that have callbacks or sizes, and copy the outputs and the updated
        inputs out."""
        with callbacks(self._rows, inputs, outputs, sizes) as (in_struct, out_struct):
            places = self._places("inputs", in_struct, pools)
            for address, array in places:
                ctypes.memmove(address, array.ctypes.data, array.nbytes)
            structs = [
                struct.struct()
                for struct in (in_struct, out_struct)
                if struct.row_bytes or struct.sizes
            ]
            passed = map(ctypes.byref, structs)
            status = int(self._run(*passed, *_pool_struct(pools), *self._last))
            updated = {id(inputs[index]) for index in self._updated}
            places = [place for place in places if id(place[1]) in updated]
            for address, array in [*places, *self._places("outputs", out_struct, pools)]:
                ctypes.memmove(array.ctypes.data, address, array.nbytes)
        return status

    def _places(
        self, side: str, tensors: TensorStruct, pools: Sequence[np.ndarray]
    ) -> list[tuple[int, np.ndarray]]:
        """Return the addresses of inputs or outputs in the workspace, and their arrays."""
        if len(tensors.row_bytes) == len(tensors.arrays):
            return []
        count = len(tensors.members())
        function = self._library[f"{self._prefix}_map_{side}"]
        function.restype = tensors.type(count)
        pointers = function(*_pool_struct(pools))
        values = iter([getattr(pointers, f"pointer_{index}") or 0 for index in range(count)])
        places = []
        for index, array in enumerate(tensors.arrays):
            value = next(values)
            if index in tensors.row_bytes:
                next(values)
            else:
                places.append((value, array))
        return places


class PackedInterface:
    """The packed functions of an entry, called by tvm-ffi.

    Parameters
    ----------
    module
        result of `load_packed`.
    prefix, module_prefix
        prefixes of the functions of the entry, and of those that all entries share.

    Raises
    ------
    AttributeError
        the library lacks `run`.
    """

    def __init__(self, module: Any, prefix: str, module_prefix: str) -> None:
        self._module, self._module_prefix = module, module_prefix
        self._run = module[f"{prefix}_run"]

    def run(
        self,
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
        pools: Sequence[np.ndarray],
        sizes: Sequence[int] = (),
    ) -> int:
        """Call `run(*inputs, *outputs, *pools)`, which raises on errors."""
        self._run(*_tensors([*inputs, *outputs, *pools]))
        return 0

    def reset(self, pools: Sequence[np.ndarray]) -> None:
        """Call `reset(*pools)`."""
        self._module[f"{self._module_prefix}_reset"](*_tensors(pools))


def load_packed(library: Path) -> Any:
    """Load a library of packed functions.

    Raises
    ------
    OSError
        the library cannot be loaded.
    """
    import tvm_ffi

    try:
        return tvm_ffi.load_module(str(library))
    except RuntimeError as error:
        raise OSError(str(error)) from error


def _tensors(arrays: Iterable[np.ndarray]) -> list[Any]:
    import tvm_ffi

    return [tvm_ffi.from_dlpack(array) for array in arrays]


def _struct(arrays: Sequence[np.ndarray]) -> ctypes.Array[ctypes.c_void_p]:
    """Return a C struct of pointers as an array, which has the same layout."""
    return (ctypes.c_void_p * max(len(arrays), 1))(*(array.ctypes.data for array in arrays))


def _pool_struct(pools: Sequence[np.ndarray]) -> list[ctypes.Array[ctypes.c_void_p]]:
    """Return the struct of the external pools as an argument list, empty without any."""
    return [_struct(pools)] if pools else []
