"""When are the allocations of dynamic size in use, among the statements that they stand between?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tvm import tirx
from tvm.ir import Var

from usmp.analysis.dynamic_sizes import is_dynamic
from usmp.analysis.memory.facts import FunctionFacts
from usmp.tir.nodes import nodes_of


@dataclass(frozen=True, eq=False)
class DynamicLifetime:
    """An allocation, and the statements of its sequence that use it.

    Parameters
    ----------
    stmt
        the allocation.
    first, last
        indices of the first and the last of them.
    """

    stmt: tirx.AllocBuffer
    first: int
    last: int


def dynamic_lifetimes(
    statements: Sequence[tirx.Stmt], facts: FunctionFacts
) -> list[DynamicLifetime]:
    """The allocations of dynamic size among statements that follow each other, which some of these
    use, in the order of the text.

    A statement uses an allocation if it mentions a variable that may point there, at any depth.
    What has its address kept is in use to the end.

    Parameters
    ----------
    statements
        a sequence of a PrimFunc.
    facts
        of this PrimFunc.
    """
    allocations = {
        stmt.buffer: stmt
        for stmt in statements
        if isinstance(stmt, tirx.AllocBuffer) and is_dynamic(stmt)
    }
    used: dict[Var, list[int]] = {buffer: [] for buffer in allocations}
    behind = facts.points_to.memories_behind if allocations else {}
    for index, stmt in enumerate(statements if allocations else ()):
        if isinstance(stmt, tirx.AllocBuffer):
            continue
        mentioned = {memory for var in nodes_of(stmt, Var) for memory in behind.get(var, ())}
        for buffer in mentioned & allocations.keys():
            used[buffer].append(index)
    escaping = facts.liveness.escaping if allocations else frozenset()
    return [
        DynamicLifetime(
            stmt, used[buffer][0], len(statements) - 1 if buffer in escaping else used[buffer][-1]
        )
        for buffer, stmt in allocations.items()
        if used[buffer]
    ]
