"""Lifetimes of allocations of dynamic size, and the blocks of memory that they can share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, TensorLoad, Var

from usmp.analysis.dynamic.sizes import is_dynamic
from usmp.analysis.memory.facts import FunctionFacts
from usmp.tir.dtypes import item_bytes
from usmp.tir.nodes import nodes_of


@dataclass(frozen=True, eq=False)
class DynamicLifetime:
    """An allocation and its uses, as indices of statements in a sequence.

    Parameters
    ----------
    stmt
        the allocation.
    declared
        index of the allocation.
    first, last
        indices of the first and the last statement that use the allocation.
    """

    stmt: tirx.AllocBuffer
    declared: int
    first: int
    last: int


@dataclass(eq=False)
class DynamicBlock:
    """A block of memory that allocations of one sequence use one after the other.

    Parameters
    ----------
    members
        the allocations, in the order of their use.
    largest
        the member that is the largest for all values of the sizes.
    """

    members: list[DynamicLifetime]
    largest: DynamicLifetime

    @property
    def first(self) -> int:
        """The index of the first statement that uses the block."""
        return self.members[0].first

    @property
    def last(self) -> int:
        """The index of the last statement that uses the block."""
        return self.members[-1].last


def dynamic_lifetimes(
    statements: Sequence[tirx.Stmt], facts: FunctionFacts
) -> list[DynamicLifetime]:
    """Return the used allocations of dynamic size in a sequence of statements, in program order.

    A statement uses an allocation if it mentions a variable that may point there, at any depth.
    An allocation whose address escapes is in use to the end.

    Parameters
    ----------
    statements
        a sequence in a PrimFunc.
    facts
        the facts of this PrimFunc.
    """
    allocations: dict[Var, tuple[tirx.AllocBuffer, int]] = {}
    for index, stmt in enumerate(statements):
        if isinstance(stmt, tirx.AllocBuffer) and is_dynamic(stmt):
            allocations.setdefault(stmt.buffer, (stmt, index))
    if not allocations:
        return []
    used: dict[Var, list[int]] = {buffer: [] for buffer in allocations}
    behind = facts.points_to.memories_behind
    for index, stmt in enumerate(statements):
        if isinstance(stmt, tirx.AllocBuffer):
            continue
        mentioned = {memory for var in nodes_of(stmt, Var) for memory in behind.get(var, ())}
        for buffer in mentioned & allocations.keys():
            used[buffer].append(index)
    for buffer in facts.liveness.escaping & allocations.keys():
        used[buffer].append(len(statements) - 1)
    return [
        DynamicLifetime(stmt, index, used[buffer][0], used[buffer][-1])
        for buffer, (stmt, index) in allocations.items()
        if used[buffer]
    ]


def dynamic_blocks(lifetimes: Sequence[DynamicLifetime]) -> list[DynamicBlock]:
    """Assign the allocations of one sequence to blocks, in the order of their first use.

    An allocation takes the smallest unused block that is large enough, or else enlarges the largest
    unused block whose first use comes after it, or else gets a new block. Two sizes can be compared
    if both are multiples of one product of variables, as all tensors of `n` rows are.
    """
    blocks: list[DynamicBlock] = []
    for lifetime in sorted(lifetimes, key=lambda item: (item.first, item.declared)):
        unused = [block for block in blocks if block.last < lifetime.first]
        large = [block for block in unused if _is_as_large(block.largest, lifetime)]
        small = [
            block
            for block in unused
            if _is_as_large(lifetime, block.largest) and lifetime.declared < block.first
        ]
        if large:
            block = min(large, key=lambda block: _Multiple.of(block.largest).bytes)
            block.members.append(lifetime)
        elif small:
            block = max(small, key=lambda block: _Multiple.of(block.largest).bytes)
            block.members.append(lifetime)
            block.largest = lifetime
        else:
            blocks.append(DynamicBlock([lifetime], lifetime))
    return blocks


@dataclass(frozen=True, eq=False)
class _Multiple:
    """A number of elements: a constant times symbolic factors."""

    elements: int
    factors: list[tirx.Expr]
    item_bytes: int
    index_type: str

    @staticmethod
    def of(lifetime: DynamicLifetime) -> _Multiple:
        buffer = lifetime.stmt.buffer
        constant, factors, pending = 1, [], list(buffer.shape[:])
        while pending:
            expr = pending.pop()
            if isinstance(expr, tirx.IntImm):
                constant *= int(expr)
            elif isinstance(expr, tirx.Mul):
                pending += [expr.a, expr.b]
            else:
                factors.append(expr)
        types = {str(extent.ty.dtype) for extent in buffer.shape[:]}
        return _Multiple(constant, factors, item_bytes(str(buffer.dtype)), ",".join(sorted(types)))

    @property
    def bytes(self) -> int:
        """The bytes where the product of the factors is 1."""
        return self.elements * self.item_bytes

    def has_factors_of(self, other: _Multiple) -> bool:
        """Return whether two sizes have equal factors; False if loads or calls may change them."""
        rest = list(other.factors)
        for factor in self.factors:
            same = [i for i, f in enumerate(rest) if tvm_ffi.structural_equal(f, factor)]
            if not same or nodes_of(factor, TensorLoad) or nodes_of(factor, Call):
                return False
            # Delete one occurrence only, because a variable may be a factor twice.
            del rest[same[0]]
        return not rest


def _is_as_large(a: DynamicLifetime, b: DynamicLifetime) -> bool:
    """Return whether `a` has at least the bytes and elements of `b` for all valid sizes."""
    large, small = _Multiple.of(a), _Multiple.of(b)
    return (
        large.index_type == small.index_type
        and 0 <= small.elements <= large.elements
        and small.bytes <= large.bytes
        and large.has_factors_of(small)
    )
