"""How memory is accessed, as far as the text tells."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntFlag
from functools import reduce
from operator import or_

from tvm import tirx
from tvm.ir import Call

from usmp.analysis.addresses import is_op


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


@dataclass
class MemoryUse:
    """What is done to one piece of memory.

    Parameters
    ----------
    by_function: what each PrimFunc does to it, by the PrimFunc's name.
    """

    by_function: dict[str, Access] = field(default_factory=dict)

    def add(self, function: str, access: Access) -> None:
        """`function` accesses the memory."""
        self.by_function[function] = self.by_function.get(function, Access.NONE) | access

    def add_call(self, callee: MemoryUse) -> None:
        """The memory is passed to a PrimFunc, which uses it as `callee`."""
        for function, access in callee.by_function.items():
            self.add(function, access)

    @classmethod
    def unknown(cls, function: str) -> MemoryUse:
        """`function` does nobody knows what."""
        return cls({function: Access.UNKNOWN})

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
