"""How the entry points of a loaded library are called: from C, or by tvm-ffi."""

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

    Inputs, outputs and pools are arrays in the order of the model; outputs and pools are written,
    and inputs that the run updates in place. So are symbolic sizes in order.
    """

    def run(
        self,
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
        pools: Sequence[np.ndarray],
        sizes: Sequence[int] = (),
    ) -> int:
        """Run once; the status, 0 if all is well."""

    def reset(self, pools: Sequence[np.ndarray]) -> None:
        """Forget what is kept from one run to the next."""


class CInterface:
    """The functions of the header; inputs and outputs are the application's.

    Parameters
    ----------
    library
        has the functions.
    prefix
        of those of the entry.
    module_prefix
        of those that are one for all entries.
    devices
        the number of accelerators that have functions; their handles are null.
    rows
        how tensors are given and taken; as wholes by default.
    arena
        the last argument of `run`, if it takes one.
    updated
        the positions of the inputs that a run updates in place.

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
        with callbacks(self._rows, inputs, outputs, sizes) as (given, taken):
            tensors = map(ctypes.byref, (given.struct(), taken.struct()))
            return int(self._run(*tensors, *_pool_struct(pools), *self._last))

    def reset(self, pools: Sequence[np.ndarray]) -> None:
        """Call `reset([workspace_pools])`."""
        reset = self._library[f"{self._module_prefix}_reset"]
        reset.restype = None
        reset(*_pool_struct(pools))


class WorkspaceIOInterface(CInterface):
    """The functions of the header when inputs and outputs live in the workspace: they are copied
    to and from the addresses that `map_inputs` and `map_outputs` return."""

    def run(
        self,
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
        pools: Sequence[np.ndarray],
        sizes: Sequence[int] = (),
    ) -> int:
        """Copy the inputs in, call `run([inputs][, outputs][, workspace_pools][, devices][,
        arena])` with the structs that have callbacks or sizes, copy the outputs and the inputs
        that are updated out."""
        with callbacks(self._rows, inputs, outputs, sizes) as (given, taken):
            places = self._places("inputs", given, pools)
            for address, array in places:
                ctypes.memmove(address, array.ctypes.data, array.nbytes)
            structs = [each.struct() for each in (given, taken) if each.row_bytes or each.sizes]
            passed = map(ctypes.byref, structs)
            status = int(self._run(*passed, *_pool_struct(pools), *self._last))
            updated = {id(inputs[index]) for index in self._updated}
            places = [place for place in places if id(place[1]) in updated]
            for address, array in [*places, *self._places("outputs", taken, pools)]:
                ctypes.memmove(array.ctypes.data, address, array.nbytes)
        return status

    def _places(
        self, what: str, tensors: TensorStruct, pools: Sequence[np.ndarray]
    ) -> list[tuple[int, np.ndarray]]:
        """The addresses of the inputs or outputs that are in the workspace, which C returns as a
        struct of pointers."""
        if len(tensors.row_bytes) == len(tensors.arrays):
            return []
        count = len(tensors.members())
        function = self._library[f"{self._prefix}_map_{what}"]
        function.restype = tensors.type(count)
        found = function(*_pool_struct(pools))
        values = iter([getattr(found, f"pointer_{index}") or 0 for index in range(count)])
        places = []
        for index, array in enumerate(tensors.arrays):
            value = next(values)
            if index in tensors.row_bytes:
                next(values)
            else:
                places.append((value, array))
        return places


class PackedInterface:
    """The functions of tvm-ffi.

    Parameters
    ----------
    module
        as `load_packed` returned it.
    prefix, module_prefix
        of the functions of the entry, and of those that are one for all entries.

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
        """Call `run(*inputs, *outputs, *pools)`, which raises what goes wrong."""
        self._run(*_tensors([*inputs, *outputs, *pools]))
        return 0

    def reset(self, pools: Sequence[np.ndarray]) -> None:
        """Call `reset(*pools)`."""
        self._module[f"{self._module_prefix}_reset"](*_tensors(pools))


def load_packed(library: Path) -> Any:
    """A library of functions of tvm-ffi.

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
    """A C struct of one pointer a member, in the memory layout of an array of pointers; ctypes
    passes it as its address."""
    return (ctypes.c_void_p * max(len(arrays), 1))(*(array.ctypes.data for array in arrays))


def _pool_struct(pools: Sequence[np.ndarray]) -> list[ctypes.Array[ctypes.c_void_p]]:
    """The struct of the external pools, if the model takes one."""
    return [_struct(pools)] if pools else []
