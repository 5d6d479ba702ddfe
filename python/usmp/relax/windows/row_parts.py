"""Some rows of the output of a PrimFunc, from the rows of the operands that they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import Call, Range, TensorLoad, TensorRegion, Var
from tvm.sym import Analyzer

from usmp.relax.windows.row_functions import RowBlock, RowFunction
from usmp.tir.nodes import conjuncts, mentions, nodes_of

Rows = tuple[int, int]
"""Rows [begin, end) of a tensor."""


def part_of(found: RowFunction, rows: Rows, given: Mapping[int, Rows]) -> tirx.PrimFunc:
    """The PrimFunc that computes some rows as `found` does.

    Where all of these rows, or none of them, meet a condition, it is decided.

    Parameters
    ----------
    rows
        of the output.
    given
        by index of the parameter: the rows that there are of each operand in `found.reads`, all
        that are read among them.
    """
    return _PartialRowFunction(found, rows, given).func()


class _PartialRowFunction:
    """The PrimFunc that is made.

    Attributes
    ----------
    begins
        buffer -> which of its rows is now the first.
    axes
        buffer -> the axis of its rows.
    buffers
        buffer -> the one in its place.
    """

    def __init__(self, found: RowFunction, rows: Rows, given: Mapping[int, Rows]) -> None:
        params = found.func.params
        kept: dict[Var, Rows] = {params[index]: given[index] for index in found.reads}
        self.axes = {params[index]: access.axis for index, access in found.reads.items()}
        self.axes |= {**found.buffers, params[-1]: found.axis}
        kept |= {buffer: rows for buffer in (*found.buffers, params[-1])}
        self.begins = {buffer: begin for buffer, (begin, _) in kept.items()}
        self.buffers = {
            buffer: _with_rows(buffer, self.axes[buffer], end - begin)
            for buffer, (begin, end) in kept.items()
        }
        self.found, self.rows = found, rows
        self.blocks = {row_block.block: row_block for row_block in found.blocks}

    def func(self) -> tirx.PrimFunc:
        """All of it."""
        func = self.found.func
        root = func.body.block
        nests = [self._nest(stmt) for stmt in tirx.stmt_list(root.body)]
        body = nests[0] if len(nests) == 1 else tirx.SeqStmt(nests)
        allocated = [self.buffers.get(buffer, buffer) for buffer in root.alloc_buffers]
        block = s_tir.SBlock([], [], [], root.name_hint, body, None, allocated)
        params = [self.buffers.get(param, param) for param in func.params]
        realized = s_tir.SBlockRealize([], True, block)
        return tirx.PrimFunc(params, realized, func.ret_type, func.attrs)

    def _nest(self, stmt: tirx.Stmt) -> tirx.Stmt:
        """A block and the loops around it."""
        loops: list[tirx.For] = []
        realize = stmt
        while isinstance(realize, tirx.For):
            loops.append(realize)
            realize = realize.body
        row_block = self.blocks.get(realize.block)
        if row_block is None:
            return stmt
        variables = [variable.var for variable in realize.block.iter_vars]
        row_loop = realize.iter_values[variables.index(row_block.row)]
        nest: tirx.Stmt = s_tir.SBlockRealize(
            realize.iter_values, realize.predicate, self._block(row_block)
        )
        for loop in reversed(loops):
            extent = self._count(row_loop) if loop.loop_var.same_as(row_loop) else loop.extent
            nest = tirx.For(
                loop.loop_var, loop.min, extent, loop.kind, nest, annotations=loop.annotations
            )
        return nest

    def _count(self, like: Var) -> tirx.IntImm:
        """How many rows are computed, in the type of a variable."""
        return tirx.IntImm(str(like.ty.dtype), self.rows[1] - self.rows[0])

    def _block(self, row_block: RowBlock) -> s_tir.SBlock:
        """The block for the rows that are computed."""
        block, row = row_block.block, row_block.row
        domain = Range(0, self._count(row))
        variables = [
            tirx.IterVar(domain, v.var, v.iter_type) if v.var.same_as(row) else v
            for v in block.iter_vars
        ]
        moved = _Moved(self, row, variables)
        return s_tir.SBlock(
            variables,
            [moved.region(region) for region in block.reads],
            [moved.region(region) for region in block.writes],
            block.name_hint,
            moved.store(block.body),
            None if block.init is None else moved.store(block.init),
        )


class _Moved:
    """What a block consists of, once its row 0 is the first one that is computed."""

    def __init__(
        self, part: _PartialRowFunction, row: Var, variables: Iterable[tirx.IterVar]
    ) -> None:
        self.part, self.row = part, row
        self.later = row + part.rows[0] if part.rows[0] else row
        self.analyzer, self.of_indices = Analyzer(), Analyzer()
        for variable in variables:
            self.analyzer.bind(variable.var, variable.dom)
            is_row = variable.var.same_as(row)
            # A single row stays a variable, as tensor expressions have it.
            at_least = tirx.IntImm(str(row.ty.dtype), max(2, part.rows[1] - part.rows[0]))
            domain = Range.from_min_extent(variable.dom.min, at_least)
            self.of_indices.bind(variable.var, domain if is_row else variable.dom)

    def store(self, store: tirx.BufferStore) -> tirx.Stmt:
        """What makes an element; its row is the variable of the block, now as before."""
        buffer = self.part.buffers.get(store.buffer, store.buffer)
        return tirx.BufferStore(buffer, self._mapped(store.value), store.indices)

    def region(self, region: TensorRegion) -> TensorRegion:
        """What the block reads or writes."""
        ranges = [
            Range.from_min_extent(self._mapped(one.min), self._mapped(one.extent))
            for one in region.region
        ]
        source, axis = region.source, self.part.axes.get(region.source)
        if axis is not None:
            begin = self._index(source, ranges[axis].min)
            ranges[axis] = Range.from_min_extent(begin, ranges[axis].extent)
        return tirx.BufferRegion(self.part.buffers.get(source, source), ranges)

    def _mapped(self, value: tirx.Expr) -> tirx.Expr:
        return tvm_ffi.structural_map(
            value,
            [
                (Var, lambda var: self.later if var.same_as(self.row) else var),
                (TensorLoad, self._load),
                (Call, self._call),
                (tirx.Select, self._select),
                ((tirx.Min, tirx.Max), self._bounded),
            ],
        )

    def _load(self, load: TensorLoad) -> tirx.Expr:
        """A load, the indices of which are those of the later row already."""
        axis = self.part.axes.get(load.source)
        if axis is None:
            return load
        indices = list(load.indices)
        indices[axis] = self._index(load.source, indices[axis])
        return self.part.buffers[load.source][tuple(indices)]

    def _index(self, source: Var, index: tirx.Expr) -> tirx.Expr:
        return self.of_indices.simplify(index - self.part.begins[source])

    def _bounded(self, expr: tirx.Min | tirx.Max) -> tirx.Expr:
        """A bound of indices, as where windows end."""
        is_index = mentions(expr, self.row) and not nodes_of(expr, TensorLoad)
        return self.analyzer.simplify(expr) if is_index else expr

    def _call(self, call: Call) -> tirx.Expr:
        if getattr(call.op, "name", None) != "prim.if_then_else":
            return call
        condition, then, otherwise = call.args
        return self._decided(call, condition, then, otherwise, tirx.if_then_else)

    def _select(self, expr: tirx.Select) -> tirx.Expr:
        return self._decided(expr, expr.condition, expr.true_value, expr.false_value, tirx.Select)

    def _decided(
        self, expr: tirx.Expr, condition: tirx.Expr, then: Any, otherwise: Any, make: Any
    ) -> tirx.Expr:
        """A choice, less what is true in all of the rows."""
        simplified = [(one, self.analyzer.simplify(one)) for one in conjuncts(condition)]
        if any(_is(one, 0) for _, one in simplified):
            return otherwise
        left = [one for one, known in simplified if not _is(known, 1)]
        if not left:
            return then
        return expr if len(left) == len(simplified) else make(tirx.all(*left), then, otherwise)


def _is(expr: tirx.Expr, value: int) -> bool:
    return isinstance(expr, tirx.IntImm) and int(expr) == value


def _with_rows(buffer: Var, axis: int, count: int) -> Var:
    """A buffer like another one, of so many rows."""
    shape = list(buffer.shape)
    shape[axis] = tirx.IntImm(str(shape[axis].ty.dtype), count)
    return tirx.decl_buffer(shape, str(buffer.dtype), buffer.name, layout=None)
