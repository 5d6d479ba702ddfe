"""Accesses of a PrimFunc to memory: what `fold_trace` finds."""

from __future__ import annotations

from dataclasses import dataclass, field

from usmp.analysis.memory.events import Condition
from usmp.analysis.memory.index_values import Bindings
from usmp.analysis.memory.iterations import TracedLoop
from usmp.analysis.memory.memories import Address, Memory


@dataclass(frozen=True, eq=False)
class TracedStatement:
    """A statement that accesses memory.

    Parameters
    ----------
    order
        among the statements of the PrimFunc, as the text has them.
    loops
        that it stands in, outermost first.
    loads_first
        whether it reads all that it reads before it writes.
    callee
        the name of the PrimFunc that it calls, if that is all that it does.
    """

    order: int
    loops: tuple[TracedLoop, ...]
    loads_first: bool = False
    callee: str | None = None


@dataclass(frozen=True, eq=False)
class TracedAccess:
    """Bytes of a memory that a statement accesses.

    Parameters
    ----------
    address
        an address; the access begins at `first` and ends before `end`, in bytes from it.
    is_write
        whether it may write.
    conditions
        under which it happens.
    in_callee
        what the memory is to the PrimFunc that the statement calls.
    """

    statement: TracedStatement
    address: Address
    first: int
    end: int
    is_write: bool
    conditions: tuple[Condition, ...] = ()
    in_callee: Memory | None = None


@dataclass(frozen=True)
class Reach:
    """The first byte of a memory that is accessed, and the end of those that are written, at the
    most; `-UNBOUNDED` if none is."""

    first: int
    written_end: int


@dataclass(frozen=True)
class CalleeReach:
    """What a call of a PrimFunc accesses.

    Parameters
    ----------
    params
        its parameters.
    allocated
        the buffers that it and what it calls allocate.
    reach
        of the parameters and buffers that are accessed.
    escaped
        those whose address is kept.
    """

    params: list[Memory]
    allocated: set[Memory]
    reach: dict[Memory, Reach]
    escaped: set[Memory]


@dataclass
class MemoryTrace:
    """All accesses of a PrimFunc.

    Parameters
    ----------
    accesses
        of each memory, in the order of the text.
    passed
        addresses in each memory that tensor intrinsics are called with, as accesses of no bytes.
    bound
        variables of `Bind` and `Let`, with what they are bound to.
    escaped
        memories whose address is kept.
    allocated
        buffers of AllocBuffers, also of those in PrimFuncs that it calls.
    """

    accesses: dict[Memory, list[TracedAccess]] = field(default_factory=dict)
    passed: dict[Memory, list[TracedAccess]] = field(default_factory=dict)
    bound: Bindings = field(default_factory=Bindings)
    escaped: set[Memory] = field(default_factory=set)
    allocated: set[Memory] = field(default_factory=set)
