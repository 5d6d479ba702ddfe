"""Bounds of the integer buffers inside a PrimFunc, above all of accumulators."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import TensorLoad, Var

from usmp.analysis.integers.addressed import addressed
from usmp.analysis.integers.integer_ranges import (
    IntegerRanges,
    Range,
    hull,
    is_integer,
    is_within,
    type_range,
)
from usmp.tir.nodes import mentions, nodes_of


@dataclass(frozen=True)
class _Store:
    """A store, the terms that it adds to the element, and the loops between it and the allocation
    of its buffer."""

    stmt: tirx.BufferStore
    added: list[tuple[int, tirx.Expr]] | None
    loops: tuple[tirx.For, ...]


@dataclass
class _Local:
    """A buffer that is allocated inside `depth` loops."""

    depth: int
    stores: list[_Store] = field(default_factory=list)


def find_ranges(body: tirx.Stmt, constants: dict[Var, Range]) -> IntegerRanges:
    """Return the known bounds of variables and buffers in a PrimFunc (with or without blocks).

    Parameters
    ----------
    constants
        element bounds of parameters with known content; ignored where the PrimFunc writes them.
    """
    escaped = addressed(body)
    changed = escaped | {stmt.buffer for stmt in nodes_of(body, tirx.BufferStore)}
    # Set these first, because the bounds of a loop may depend on a parameter.
    ranges = IntegerRanges(buffers={b: v for b, v in constants.items() if b not in changed})
    walk = _Walk(ranges)
    walk.visit(body)
    # Twice, because a stored value may depend on a buffer that is allocated later.
    for _ in range(2):
        for buffer, local in walk.local.items():
            values = None if buffer in escaped else _values(buffer, local, ranges)
            if values is not None and values != ranges.buffers.get(buffer):
                ranges.buffers[buffer] = values
                ranges.forget()
    return ranges


class _Walk:
    """A visitor of the statements in program order, which records local buffers and loop bounds."""

    def __init__(self, ranges: IntegerRanges) -> None:
        self.ranges = ranges
        self.local: dict[Var, _Local] = {}
        self._loops: list[tirx.For] = []
        self._endless = 0

    def visit(self, stmt: Any) -> None:
        if isinstance(stmt, tirx.For):
            low, high = self.ranges.of(stmt.min), self.ranges.of(stmt.extent)[1]
            step = 1 if stmt.step is None else self.ranges.of(stmt.step)[1]
            last = low[1] + max(high - 1, 0) * max(step, 1)
            if stmt.step is None:
                self.ranges.variables[stmt.loop_var] = low[0], last
            self._loops.append(stmt)
            self.visit(stmt.body)
            self._loops.pop()
        elif isinstance(stmt, tirx.While):
            # The trip count is unknown, so sums in the loop have no bound.
            self._endless += 1
            self.visit(stmt.body)
            self._endless -= 1
        elif isinstance(stmt, tirx.BufferStore):
            self._store(stmt)
        elif isinstance(stmt, tirx.AllocBuffer):
            self._allocate(stmt.buffer)
        elif isinstance(stmt, tirx.Bind):
            self.ranges.bound[stmt.var] = stmt.value
        elif isinstance(stmt, tirx.SeqStmt):
            for child in stmt.seq:
                self.visit(child)
        elif isinstance(stmt, tirx.IfThenElse):
            self.visit(stmt.then_case)
            if stmt.else_case is not None:
                self.visit(stmt.else_case)
        elif isinstance(stmt, s_tir.SBlockRealize):
            self._block(stmt)
        elif isinstance(stmt, tirx.AttrStmt):
            self.visit(stmt.body)

    def _block(self, stmt: s_tir.SBlockRealize) -> None:
        block = stmt.block
        for iter_var, value in zip(block.iter_vars, stmt.iter_values, strict=True):
            self.ranges.bound[iter_var.var] = value
        for buffer in block.alloc_buffers:
            self._allocate(buffer)
        if block.init is not None:
            self.visit(block.init)
        self.visit(block.body)

    def _allocate(self, buffer: Var) -> None:
        if is_integer(str(buffer.dtype)) and not self._endless:
            self.local[buffer] = _Local(len(self._loops))

    def _store(self, stmt: tirx.BufferStore) -> None:
        local = self.local.get(stmt.buffer)
        if local is None:
            return
        if self._endless:
            del self.local[stmt.buffer]
            return
        added = _added(stmt.value, stmt)
        local.stores.append(_Store(stmt, added, tuple(self._loops[local.depth :])))


def _values(buffer: Var, local: _Local, ranges: IntegerRanges) -> Range | None:
    """Return the bounds of a buffer, None if unknown: the stored values plus all added terms."""
    limits = type_range(str(buffer.dtype))
    kept: list[Range] = []
    added: list[Range] = []
    for store in local.stores:
        if store.added is None:
            kept.append(ranges.of(store.stmt.value))
            continue
        times = _times(store, ranges)
        for sign, term in store.added:
            low, high = (sign * bound for bound in ranges.of(term))
            added.append((times * min(low, high, 0), times * max(low, high, 0)))
    if not kept:
        return None
    first = hull(*kept)
    values = (first[0] + sum(low for low, _ in added), first[1] + sum(high for _, high in added))
    return values if is_within(values, limits) else None


def _added(value: Any, store: tirx.BufferStore) -> list[tuple[int, tirx.Expr]] | None:
    """Return the signed terms that a store adds to its element; None if it sets the element."""
    if _is_element(value, store):
        return []
    if isinstance(value, (tirx.Add, tirx.Sub)):
        inner = _added(value.a, store)
        if inner is not None and not mentions(value.b, store.buffer):
            return [*inner, (-1 if isinstance(value, tirx.Sub) else 1, value.b)]
    if isinstance(value, tirx.Add):
        inner = _added(value.b, store)
        if inner is not None and not mentions(value.a, store.buffer):
            return [*inner, (1, value.a)]
    return None


def _is_element(expr: tirx.Expr, store: tirx.BufferStore) -> bool:
    return (
        isinstance(expr, TensorLoad)
        and expr.source.same_as(store.buffer)
        and tvm_ffi.structural_equal(expr.indices, store.indices)
    )


def _times(store: _Store, ranges: IntegerRanges) -> int:
    """Return the most times that a store writes one element; a loop over an index of the element
    is left out, because each iteration writes another element."""
    selecting = {
        ranges.bound.get(index, index) for index in store.stmt.indices if isinstance(index, Var)
    }
    return prod(
        max(ranges.of(loop.extent)[1], 0)
        for loop in store.loops
        if not any(var.same_as(loop.loop_var) for var in selecting)
    )
