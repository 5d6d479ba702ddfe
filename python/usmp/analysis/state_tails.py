"""Tails of states: the bytes behind a state in its buffer, and their reuse by other buffers.

A state may be the start of a larger buffer (see `STATE_BYTES_ATTR`). A run writes new rows into the
tail, so that an operator reads state and tail as one tensor. The state is always live. The tail is
live from the first statement that accesses it to the last one; other buffers may use its bytes
before and after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tvm import tirx
from tvm.ir import Call

from usmp.analysis.memory.addresses import address_of
from usmp.analysis.memory.buffer_size import size_bytes
from usmp.analysis.memory.facts import FunctionFacts
from usmp.analysis.memory.function_liveness import PositionRange
from usmp.analysis.memory.memories import Memory
from usmp.objects import BufferInfo
from usmp.objects.attributes.annotations import STATE_BYTES_ATTR, STATE_TENSOR_ATTR
from usmp.tir.nodes import nodes_of


def kept_bytes(stmt: tirx.AllocBuffer) -> int:
    """Return the number of bytes of the state in its allocation, without the tail.

    Raises
    ------
    ValueError
        the number is less than one or more than the buffer has, or the allocation is not a state.
    """
    size = size_bytes(stmt.buffer)
    if STATE_BYTES_ATTR.is_on(stmt) and not STATE_TENSOR_ATTR.is_on(stmt):
        raise ValueError(
            f'buffer {stmt.buffer.name} is annotated with "{STATE_BYTES_ATTR}", but holds no '
            f'state; annotate it with "{STATE_TENSOR_ATTR}" too, the name of the state'
        )
    kept = STATE_BYTES_ATTR.of(stmt)
    kept = size if kept is None else kept
    if kept != size and not 0 < kept < size:
        raise ValueError(
            f'the annotation "{STATE_BYTES_ATTR}" of buffer {stmt.buffer.name} must be at least 1 '
            f"and no more than its {size} bytes, but is {kept}"
        )
    return kept


def state_tails(facts: FunctionFacts) -> dict[tirx.AllocBuffer, PositionRange]:
    """Return the live range of the tail of each state that has one.

    A range begins at the first statement of the PrimFunc that may access the tail and ends with the
    last such statement. It is the whole run if a callee allocates the buffer, or if its address
    escapes.

    Raises
    ------
    ValueError
        a state is larger than its buffer.
    """
    liveness = facts.liveness
    tails: dict[tirx.AllocBuffer, PositionRange] = {}
    for stmt in liveness.allocations:
        if not STATE_BYTES_ATTR.is_on(stmt) or kept_bytes(stmt) == size_bytes(stmt.buffer):
            continue
        memory, kept = stmt.buffer, kept_bytes(stmt)
        if liveness.functions[stmt] != facts.name or memory in liveness.escaping:
            tails[stmt] = (0, liveness.length)
            continue
        ranges = [
            statement.ranges[memory]
            for statement in liveness.statements
            if memory in statement.ranges and _reaches(facts, statement.stmt, memory, kept)
        ]
        start = min((start for start, _ in ranges), default=0)
        tails[stmt] = (start, max((stop for _, stop in ranges), default=start + 1))
    return tails


def share_tails(
    buffers: Sequence[tuple[BufferInfo, tirx.AllocBuffer]],
    tails: Mapping[tirx.AllocBuffer, PositionRange],
) -> None:
    """Let buffers use the tail of a state while it is not live.

    This is a safe overlap: the state starts below such a buffer by at least the bytes of the state.

    Parameters
    ----------
    buffers
        the workspace buffers, each with its allocation.
    tails
        the result of `state_tails`.
    """
    for info, stmt in buffers:
        if stmt in tails:
            start, stop = tails[stmt]
            distances = {
                other: kept_bytes(stmt)
                for other, _ in buffers
                if other is not info
                and all(live.stop <= start or live.start >= stop for live in other.live_ranges)
            }
            info.set_overlaps(dict(info.overlaps.items()) | distances)


def _reaches(facts: FunctionFacts, stmt: tirx.Stmt, memory: Memory, kept: int) -> bool:
    """Return whether a statement may access a memory beyond its first `kept` bytes."""
    return any(
        _mentions(facts, leaf, memory) and not _stays_within(facts, leaf, memory, kept)
        for leaf in _leaves(stmt)
    )


def _leaves(stmt: tirx.Stmt) -> Iterator[tirx.Stmt | tirx.Expr]:
    """Yield the statements of a body and of its branches, and the conditions of the branches."""
    for part in tirx.stmt_list(stmt):
        if isinstance(part, tirx.IfThenElse):
            yield part.condition
            for case in (part.then_case, part.else_case):
                if case is not None:
                    yield from _leaves(case)
        else:
            yield part


def _mentions(facts: FunctionFacts, leaf: tirx.Stmt | tirx.Expr, memory: Memory) -> bool:
    behind = facts.points_to.memories_behind
    return any(memory in behind.get(var, ()) for var in nodes_of(leaf, tirx.Var))


def _stays_within(
    facts: FunctionFacts, leaf: tirx.Stmt | tirx.Expr, memory: Memory, kept: int
) -> bool:
    """Return whether a statement only calls a PrimFunc that uses the first `kept` bytes."""
    if not (isinstance(leaf, tirx.Evaluate) and isinstance(leaf.value, Call)):
        return False
    call = facts.calls.resolve(leaf.value)
    if call is None or facts.points_to.layouts:
        return False
    callee = facts.callees[call.callee]
    for index, argument in enumerate(call.arguments):
        addresses = facts.points_to.addresses_of(argument)
        if not any(address.memory.same_as(memory) for address in addresses):
            if address_of(argument).computed:
                return False
            continue
        used = callee.used_bytes(index) if index < len(callee.func.params) else None
        if len(addresses) != 1 or addresses[0].byte_offset is None or used is None:
            return False
        if addresses[0].byte_offset + used > kept:
            return False
    return True
