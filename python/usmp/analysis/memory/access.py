"""How memory is accessed, and how often, as far as the TIR shows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import IntFlag
from functools import cache, reduce
from operator import or_
from typing import NamedTuple

import tvm
from tvm import tirx
from tvm.ir import Call

from usmp.analysis.memory.addresses import is_op


class Access(IntFlag):
    """What is done to memory; flags add up."""

    NONE = 0
    READ = 1
    WRITE = 2
    UNKNOWN = 4
    """Its address is given away: to a function outside of the module, to an operator, to memory."""

    @property
    def may_write(self) -> bool:
        """Whether the content may change."""
        return bool(self & (Access.WRITE | Access.UNKNOWN))


class Movement(NamedTuple):
    """One load or store.

    Parameters
    ----------
    function
        name of the PrimFunc that does it.
    access
        `READ`, `WRITE`, or `UNKNOWN` for what a function outside of the module may do.
    element_bytes
        of one element.
    size_bytes
        of all elements that it moves, a vector's; 0 stands for the whole memory.
    """

    function: str
    access: Access
    element_bytes: int
    size_bytes: int


@dataclass
class MemoryUse:
    """What is done to one memory.

    Parameters
    ----------
    by_function
        what each PrimFunc does to it, by the PrimFunc's name.
    movements
        how often it is loaded and stored.
    """

    by_function: dict[str, Access] = field(default_factory=dict)
    movements: Counter[Movement] = field(default_factory=Counter)

    def add(self, function: str, access: Access) -> None:
        """`function` accesses the memory."""
        self.by_function[function] = self.by_function.get(function, Access.NONE) | access

    def add_call(self, callee: MemoryUse, times: int = 1) -> None:
        """The memory is passed to a PrimFunc, which uses it as `callee`, `times` times."""
        for function, access in callee.by_function.items():
            self.add(function, access)
        for movement, count in callee.movements.items():
            self.movements[movement] += times * count

    @classmethod
    def unknown(cls, function: str) -> MemoryUse:
        """What `function` does is not known."""
        return cls({function: Access.UNKNOWN}, Counter([Movement(function, Access.UNKNOWN, 1, 0)]))

    @property
    def access(self) -> Access:
        """By all functions together."""
        return reduce(or_, self.by_function.values(), Access.NONE)


_MASKS = {1: Access.READ, 2: Access.WRITE}
"""The access masks of `tvm_access_ptr`; 3, for both, is often said where only one is meant."""


def declared_access(call: Call) -> Access | None:
    """What `tvm_access_ptr(type, data, offset, extent, mask)` says is done with the pointer; None
    if `call` is another one."""
    if not is_op(call, "tirx.tvm_access_ptr"):
        return None
    mask = call.args[4]
    return _MASKS.get(int(mask), Access.UNKNOWN) if isinstance(mask, tirx.IntImm) else None


@cache
def item_bytes(dtype: str) -> int:
    """Bytes of one value of a type, which may be a vector."""
    return int(tvm.DataType(dtype).itemsize)
