"""Kinds and numbers of accesses to a memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import IntFlag
from functools import reduce
from operator import or_
from typing import NamedTuple

from tvm import tirx
from tvm.ir import Call

from usmp.tir.op_names import is_op


class Access(IntFlag):
    """The kinds of accesses to a memory, as flags."""

    NONE = 0
    READ = 1
    WRITE = 2
    UNKNOWN = 4
    """Any access: functions outside of the module, operators or memory may get the address."""

    @property
    def may_write(self) -> bool:
        """Whether the content may change."""
        return bool(self & (Access.WRITE | Access.UNKNOWN))


class Movement(NamedTuple):
    """One load or store.

    Parameters
    ----------
    function
        name of the PrimFunc that contains the access.
    access
        `READ` or `WRITE`; `UNKNOWN` if a function outside of the module may do both.
    element_bytes
        bytes of one element.
    size_bytes
        bytes of all elements in the access (several in a vector); 0 means the whole memory.
    """

    function: str
    access: Access
    element_bytes: int
    size_bytes: int


@dataclass
class MemoryUse:
    """The accesses to one memory.

    Parameters
    ----------
    by_function
        kinds of accesses by name of the PrimFunc.
    movements
        number of loads and stores of each kind.
    """

    by_function: dict[str, Access] = field(default_factory=dict)
    movements: Counter[Movement] = field(default_factory=Counter)

    def add(self, function: str, access: Access) -> None:
        """Record an access by `function`."""
        self.by_function[function] = self.by_function.get(function, Access.NONE) | access

    def add_call(self, callee: MemoryUse, times: int = 1) -> None:
        """Record `times` calls of a PrimFunc whose accesses to the memory are `callee`."""
        for function, access in callee.by_function.items():
            self.add(function, access)
        for movement, count in callee.movements.items():
            self.movements[movement] += times * count

    @classmethod
    def unknown(cls, function: str) -> MemoryUse:
        """Return the use by a function with unknown accesses."""
        return cls({function: Access.UNKNOWN}, Counter([Movement(function, Access.UNKNOWN, 1, 0)]))

    @property
    def access(self) -> Access:
        """The kinds of accesses by all functions together."""
        return reduce(or_, self.by_function.values(), Access.NONE)


_MASKS = {1: Access.READ, 2: Access.WRITE}
"""The access masks of `tvm_access_ptr`; 3 (both) is unreliable, since callers use it as default."""


def declared_access(call: Call) -> Access | None:
    """Return the access that `tvm_access_ptr(type, data, offset, extent, mask)` declares; None for
    other calls."""
    if not is_op(call, "tirx.tvm_access_ptr"):
        return None
    mask = call.args[4]
    return _MASKS.get(int(mask), Access.UNKNOWN) if isinstance(mask, tirx.IntImm) else None
