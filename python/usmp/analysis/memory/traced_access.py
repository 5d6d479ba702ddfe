"""The memory trace of a PrimFunc, as `fold_trace` returns it."""

from __future__ import annotations

from dataclasses import dataclass, field

from usmp.analysis.memory.indices.index_values import Bindings
from usmp.analysis.memory.indices.iterations import TracedLoop
from usmp.analysis.memory.memories import Address, Memory
from usmp.analysis.memory.walk.events import Condition


@dataclass(frozen=True, eq=False)
class TracedStatement:
    """A statement that accesses memory.

    Parameters
    ----------
    order
        position among the statements of the PrimFunc, in program order.
    loops
        the loops around the statement, outermost first.
    loads_first
        whether all reads of the statement precede its write.
    callee
        the name of the called PrimFunc, if the statement is only a call.
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
        the address of the element or argument.
    first, end
        half-open range of bytes, relative to `address`.
    is_write
        whether the access may write.
    conditions
        the guards of the access.
    in_callee
        the memory as seen by the called PrimFunc: its parameter or AllocBuffer.
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
    """The first accessed byte of a memory, and the end of its written bytes; `-UNBOUNDED` if a
    call writes none."""

    first: int
    written_end: int


@dataclass(frozen=True)
class CalleeReach:
    """The bytes that a call of a PrimFunc accesses.

    Parameters
    ----------
    params
        its parameters.
    allocated
        the buffers that it and its callees allocate.
    reach
        accessed bytes of each accessed parameter and buffer.
    escaped
        parameters and buffers whose address escapes.
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
        accesses to each memory, in program order.
    passed
        address arguments of tensor intrinsics in each memory, as accesses of no bytes.
    bound
        variables of `Bind` and `Let`, with their values.
    escaped
        memories whose address escapes.
    allocated
        AllocBuffers of the PrimFunc and of its callees.
    """

    accesses: dict[Memory, list[TracedAccess]] = field(default_factory=dict)
    passed: dict[Memory, list[TracedAccess]] = field(default_factory=dict)
    bound: Bindings = field(default_factory=Bindings)
    escaped: set[Memory] = field(default_factory=set)
    allocated: set[Memory] = field(default_factory=set)
