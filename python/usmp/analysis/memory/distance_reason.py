"""Why must one memory start so many bytes below another one? From the trace, in RFC 0009's words.

A distance is decided by one pair of accesses: what is written by the first of them is still to be
accessed by the second. Where a call decides, its callee has such a pair, down to the operator that
accesses the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from usmp.analysis.memory.memories import UNBOUNDED, Memory
from usmp.analysis.memory.pair_distance import PairDistance
from usmp.analysis.memory.safe_distance import (
    DEEPEST_CALLS,
    Decision,
    SafeOverlap,
    shared_loops,
)
from usmp.analysis.memory.traced_access import TracedAccess

IN_ORDER = "order of accesses"
"""One pass over the data: what is still to be accessed when so much is written."""
LATER_STATEMENT = "later access"
"""One statement writes the one memory, a later one accesses the other."""
UNORDERED_LOOP = "loop without order"
"""A loop that is parallel, or whose iterations are not known, may run in any order."""
MANY_ITERATIONS = "too many iterations"
"""They were not followed one by one, or not the conditions of accesses: any may come first, and
accesses may be taken to happen that do not."""
UNKNOWN_ADDRESS = "unknown address"
"""An index is loaded, or no expression of loop variables: any byte may be accessed."""
KEPT_ADDRESS = "kept address"
"""The address is passed to an unknown function or stored: any code may access it."""
MANY_ACCESSES = "too many accesses"
"""More pairs than are compared, or calls nested more deeply than are looked at."""
STATED = "stated by kernel"
"""An external function states how far it may be overwritten, and nothing nearer."""
NOT_KNOWN = "not known"
"""The analysis does not say."""


@dataclass(frozen=True)
class DistanceReason:
    """What decides a safe distance.

    Parameters
    ----------
    kind
        one of the constants of this module.
    functions
        names of the PrimFuncs that are called down to the accesses, outermost first; none if those
        of the program itself decide.
    written_end
        bytes of the memory that is written, from its start, that may be written before the access;
        None if they are not known.
    first_accessed
        the first byte of the other memory that is accessed then.
    is_write
        whether that access writes.
    written_name, accessed_name
        of the innermost function, what it calls the two.
    """

    kind: str
    functions: tuple[str, ...] = ()
    written_end: int | None = None
    first_accessed: int | None = None
    is_write: bool = False
    written_name: str | None = None
    accessed_name: str | None = None


def distance_reason(overlap: SafeOverlap, dying: Memory, written: Memory) -> DistanceReason:
    """Why `written` must start by `overlap.distance(dying, written)` bytes below `dying`.

    Parameters
    ----------
    overlap
        of the PrimFunc with both memories.
    dying, written
        as there.
    """
    functions: list[str] = []
    starts: tuple[int | None, int | None] = (0, 0)
    while True:
        if {dying, written} & overlap.trace.escaped:
            return DistanceReason(KEPT_ADDRESS, tuple(functions))
        decision = overlap.decision(dying, written)
        write, access = decision.write, decision.access
        if write is None or access is None:
            is_unknown = decision.compared.distance < UNBOUNDED
            return DistanceReason(NOT_KNOWN if is_unknown else MANY_ACCESSES, tuple(functions))
        callee = overlap.callees.get(str(write.statement.callee))
        if not _is_decided_by_callee(decision) or callee is None:
            return _of_accesses(decision, functions, starts, dying, written)
        functions.append(_name(str(write.statement.callee)))
        if not isinstance(callee, SafeOverlap):
            return DistanceReason(STATED, tuple(functions))
        if callee.height >= DEEPEST_CALLS or write.in_callee is None or access.in_callee is None:
            return DistanceReason(MANY_ACCESSES, tuple(functions))
        if abs(decision.compared.distance) >= UNBOUNDED and (
            abs(callee.relative_distance(access.in_callee, write.in_callee)) < UNBOUNDED
        ):
            return DistanceReason(UNKNOWN_ADDRESS, tuple(functions))
        starts = _moved(starts[0], access), _moved(starts[1], write)
        overlap, dying, written = callee, access.in_callee, write.in_callee


def _is_decided_by_callee(decision: Decision) -> bool:
    """Whether the order within one call decides, not that of two calls."""
    write, access = decision.write, decision.access
    assert write is not None and access is not None
    return (
        write.statement is access.statement
        and write.statement.callee is not None
        and decision.compared.written_end is None
    )


def _of_accesses(
    decision: Decision,
    functions: list[str],
    starts: tuple[int | None, int | None],
    dying: Memory,
    written: Memory,
) -> DistanceReason:
    """The reason that two accesses are, in the function at the end of the calls."""
    write, access, compared = decision.write, decision.access, decision.compared
    assert write is not None and access is not None
    end, first = compared.written_end, compared.first_accessed
    return DistanceReason(
        _kind(write, access, compared),
        tuple(functions),
        _position(end, starts[1]),
        _position(first, starts[0]),
        access.is_write,
        str(written.name),
        str(dying.name),
    )


def _kind(write: TracedAccess, access: TracedAccess, compared: PairDistance) -> str:
    unknown = None in (write.address.terms, access.address.terms)
    if unknown or compared.distance >= UNBOUNDED:
        return UNKNOWN_ADDRESS
    shared = shared_loops(write.statement, access.statement)
    if write.statement is not access.statement and not shared:
        return LATER_STATEMENT
    if not all(loop.is_ordered for loop in shared):
        return UNORDERED_LOOP
    # Before the start of a memory there is nothing: a guard was not followed.
    is_exact = compared.followed == len(shared) and (compared.first_accessed or 0) >= 0
    return IN_ORDER if is_exact else MANY_ITERATIONS


def _moved(start: int | None, access: TracedAccess) -> int | None:
    """Where what the callee is given begins in the memory; None if that is not constant."""
    offset = access.address.byte_offset
    return None if start is None or offset is None else start + offset


def _position(byte: int | None, start: int | None) -> int | None:
    """A byte of a memory; None if it is not known, or there is none."""
    if byte is None or start is None or abs(byte) >= UNBOUNDED // 2:
        return None
    return max(0, byte + start)


def _name(callee: str) -> str:
    return callee.removeprefix("extern ")
