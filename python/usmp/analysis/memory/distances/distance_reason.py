"""Explanations of safe distances (RFC 0009 of this repository), from the trace.

One pair of accesses decides a distance: a write of one memory, and a later access to the other.
Where a call decides, its callee has such a pair, down to the operator that accesses the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from usmp.analysis.memory.distances.pair_distance import PairDistance
from usmp.analysis.memory.distances.safe_distance import (
    DEEPEST_CALLS,
    Decision,
    SafeOverlap,
    shared_loops,
)
from usmp.analysis.memory.memories import UNBOUNDED, Memory
from usmp.analysis.memory.traced_access import TracedAccess

IN_ORDER = "order of accesses"
"""One pass over the data: bytes are written while later bytes are still to be accessed."""
LATER_STATEMENT = "later access"
"""One statement writes one memory, and a later statement accesses the other memory."""
UNORDERED_LOOP = "loop without order"
"""A loop is parallel or has unknown iterations, so that it may run in any order."""
MANY_ITERATIONS = "too many iterations"
"""Iterations or conditions of accesses were not evaluated one by one, so that any order and any
access is assumed."""
UNKNOWN_ADDRESS = "unknown address"
"""An index is not an expression of loop variables, so that any byte may be accessed."""
KEPT_ADDRESS = "kept address"
"""The address is passed to an unknown function or stored, so that any code may access it."""
MANY_ACCESSES = "too many accesses"
"""There are more pairs of accesses, or more deeply nested calls, than are compared."""
STATED = "stated by kernel"
"""An external function states the distance."""
NOT_KNOWN = "not known"
"""The analysis gives no reason."""


@dataclass(frozen=True)
class DistanceReason:
    """The accesses that decide a safe distance.

    Parameters
    ----------
    kind
        one of the constants of this module.
    functions
        names of the PrimFuncs that are called down to the accesses, outermost first; empty if
        accesses of the program itself decide.
    written_end
        end of the bytes of the written memory that may be written before the access; None if
        unknown.
    first_accessed
        first byte of the other memory that is accessed afterwards; None if unknown.
    is_write
        whether that access is a write.
    written_name, accessed_name
        names of the two memories in the innermost function.
    """

    kind: str
    functions: tuple[str, ...] = ()
    written_end: int | None = None
    first_accessed: int | None = None
    is_write: bool = False
    written_name: str | None = None
    accessed_name: str | None = None


def distance_reason(overlap: SafeOverlap, dying: Memory, written: Memory) -> DistanceReason:
    """Explain why `written` must start `overlap.distance(dying, written)` bytes below `dying`.

    Parameters
    ----------
    overlap
        the distances of the PrimFunc with both memories.
    dying, written
        the arguments of `overlap.distance`.
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
    """Return whether the order of accesses within one call decides, not the order of two calls."""
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
    """Return the reason for two accesses in the innermost function."""
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
    # A negative byte lies before the memory, so the guard that excludes it was not evaluated.
    is_exact = compared.followed == len(shared) and (compared.first_accessed or 0) >= 0
    return IN_ORDER if is_exact else MANY_ITERATIONS


def _moved(start: int | None, access: TracedAccess) -> int | None:
    """Return `start` plus the offset of an argument of a call; None if either is unknown."""
    offset = access.address.byte_offset
    return None if start is None or offset is None else start + offset


def _position(byte: int | None, start: int | None) -> int | None:
    """Return the offset of a byte in a memory; None if it is unknown or unbounded."""
    if byte is None or start is None or abs(byte) >= UNBOUNDED // 2:
        return None
    return max(0, byte + start)


def _name(callee: str) -> str:
    return callee.removeprefix("extern ")
