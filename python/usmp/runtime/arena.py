"""The arena of a model that allocates while it runs, in memory of this host."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from usmp.support.tvmc_exception import TVMCException


class ArenaExhausted(TVMCException, RuntimeError):
    """A model needs a larger arena.

    Parameters
    ----------
    text
        says so.
    needed_bytes
        what the arena must have at least, so that the run gets further.
    """

    def __init__(self, text: str, needed_bytes: int) -> None:
        super().__init__(text)
        self.needed_bytes = needed_bytes

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the text and the number."""
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
    """An arena.

    Parameters
    ----------
    library
        has its functions.
    memory
        bytes that it gives away.

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
        """What C functions take."""
        return ctypes.byref(self._struct)

    @property
    def capacity(self) -> int:
        """Bytes of its memory."""
        return int(self._struct.capacity)

    @property
    def used(self) -> int:
        """Bytes that are in use; 0 between runs."""
        return int(self._struct.used)

    @property
    def high_water(self) -> int:
        """The most bytes that were in use or asked for at one time, since `reset`."""
        return int(self._struct.high_water)

    def reset(self) -> None:
        """Begin anew."""
        self._reset(self.argument)
