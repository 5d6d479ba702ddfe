"""The arena of a model that allocates at run time, in memory of this host."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from usmp.support.tvmc_exception import TVMCException


class ArenaExhausted(TVMCException, RuntimeError):
    """The arena is too small for a run of a model.

    Parameters
    ----------
    text
        text of the message.
    needed_bytes
        smallest arena with which the failed allocation succeeds.
    """

    def __init__(self, text: str, needed_bytes: int) -> None:
        super().__init__(text)
        self.needed_bytes = needed_bytes

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how pickle constructs a copy with the text and `needed_bytes`."""
        return type(self), (*self.args, self.needed_bytes), vars(self)


class _Struct(ctypes.Structure):
    _fields_ = (
        ("memory", ctypes.c_void_p),
        ("capacity", ctypes.c_size_t),
        ("used", ctypes.c_size_t),
        ("high_water", ctypes.c_size_t),
        ("top", ctypes.c_size_t),
    )


class HostArena:
    """An arena in memory of this host.

    Parameters
    ----------
    library
        the built library with the functions of arenas.
    memory
        array of bytes in which to allocate.

    Raises
    ------
    AttributeError
        the library lacks a function.
    """

    def __init__(self, library: ctypes.CDLL, memory: np.ndarray) -> None:
        self._memory = memory
        self._struct = _Struct()
        self._reset = library["usmp_arena_reset"]
        library["usmp_arena_init"](
            self.argument, ctypes.c_void_p(memory.ctypes.data), ctypes.c_size_t(memory.nbytes)
        )

    @property
    def argument(self) -> object:
        """The argument of C functions that take an arena."""
        return ctypes.byref(self._struct)

    @property
    def capacity(self) -> int:
        """The size of the memory in bytes."""
        return int(self._struct.capacity)

    @property
    def used(self) -> int:
        """The bytes in use; 0 between runs."""
        return int(self._struct.used)

    @property
    def high_water(self) -> int:
        """The high-water mark since `reset` in bytes, including a failed allocation."""
        return int(self._struct.high_water)

    def reset(self) -> None:
        """Free all allocations, and reset the high-water mark."""
        self._reset(self.argument)
