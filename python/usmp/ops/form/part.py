"""A PrimFunc that computes a part of an output along one axis, from parts of its operands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import Call, Range, TensorLoad, TensorRegion, Var
from tvm.sym import Analyzer

from usmp.ops.form.along import AxisAccess, AxisNest, Interval
from usmp.ops.form.nests import with_extents
from usmp.tir.nodes import conjuncts, mentions, nodes_of


def part_of(access: AxisAccess, indices: Interval, given: Mapping[int, Interval]) -> tirx.PrimFunc:
    """Return the PrimFunc that computes the output at some indices of the axis.

    Conditions are decided that hold for all of these indices, or for none.

    Parameters
    ----------
    indices
        of the output.
    given
        by index of the parameter: the indices that there are of each operand in `access.reads`,
        all that are read among them.
    """
    return _Part(access, indices, given).func()


class _Part:
    """A PrimFunc that computes a part of an output.

    Attributes
    ----------
    begins
        buffer -> which of its indices is now the first.
    axes
        buffer -> its axis.
    buffers
        buffer -> the one in its place.
    """

    def __init__(
        self, access: AxisAccess, indices: Interval, given: Mapping[int, Interval]
    ) -> None:
        params, output = access.form.func.params, access.form.output
        kept: dict[Var, Interval] = {params[index]: given[index] for index in access.reads}
        self.axes = {params[index]: read.axis for index, read in access.reads.items()}
        self.axes |= {**access.buffers, output: access.axis}
        kept |= {buffer: indices for buffer in (*access.buffers, output)}
        self.begins = {buffer: begin for buffer, (begin, _) in kept.items()}
        self.buffers = {
            buffer: with_extents(buffer, {self.axes[buffer]: end - begin})
            for buffer, (begin, end) in kept.items()
        }
        self.access, self.indices = access, indices
        self.nests = {nest.nest.block: nest for nest in access.nests}

    def func(self) -> tirx.PrimFunc:
        """Return the PrimFunc."""
        func = self.access.form.func
        root = func.body.block
        nests = [self._nest(stmt) for stmt in tirx.stmt_list(root.body)]
        body = nests[0] if len(nests) == 1 else tirx.SeqStmt(nests)
        allocated = [self.buffers.get(buffer, buffer) for buffer in root.alloc_buffers]
        block = s_tir.SBlock([], [], [], root.name_hint, body, None, allocated)
        params = [self.buffers.get(param, param) for param in func.params]
        realized = s_tir.SBlockRealize([], True, block)
        return tirx.PrimFunc(params, realized, func.ret_type, func.attrs)

    def _nest(self, stmt: tirx.Stmt) -> tirx.Stmt:
        """Return a block and the loops around it."""
        loops: list[tirx.For] = []
        realize = stmt
        while isinstance(realize, tirx.For):
            loops.append(realize)
            realize = realize.body
        axis_nest = self.nests.get(realize.block)
        if axis_nest is None:
            return stmt
        variables = [variable.var for variable in realize.block.iter_vars]
        axis_loop = realize.iter_values[variables.index(axis_nest.iterator)]
        nest: tirx.Stmt = s_tir.SBlockRealize(
            realize.iter_values, realize.predicate, self._block(axis_nest)
        )
        for loop in reversed(loops):
            extent = self._count(axis_loop) if loop.loop_var.same_as(axis_loop) else loop.extent
            nest = tirx.For(
                loop.loop_var, loop.min, extent, loop.kind, nest, annotations=loop.annotations
            )
        return nest

    def _count(self, like: Var) -> tirx.IntImm:
        """Return how many indices are computed, in the type of a variable."""
        return tirx.IntImm(str(like.ty.dtype), self.indices[1] - self.indices[0])

    def _block(self, axis_nest: AxisNest) -> s_tir.SBlock:
        """Return the block for the indices that are computed."""
        block, iterator = axis_nest.nest.block, axis_nest.iterator
        domain = Range(0, self._count(iterator))
        variables = [
            tirx.IterVar(domain, v.var, v.iter_type) if v.var.same_as(iterator) else v
            for v in block.iter_vars
        ]
        moved = _Moved(self, iterator, variables)
        return s_tir.SBlock(
            variables,
            [moved.region(region) for region in block.reads],
            [moved.region(region) for region in block.writes],
            block.name_hint,
            moved.store(block.body),
            None if block.init is None else moved.store(block.init),
        )


class _Moved:
    """The contents of a block whose iteration 0 is the first one of the part."""

    def __init__(self, part: _Part, iterator: Var, variables: Iterable[tirx.IterVar]) -> None:
        self.part, self.iterator = part, iterator
        begin, end = part.indices
        self.later = iterator + begin if begin else iterator
        self.analyzer, self.of_indices = Analyzer(), Analyzer()
        for variable in variables:
            self.analyzer.bind(variable.var, variable.dom)
            is_iterator = variable.var.same_as(iterator)
            # A single iteration stays a variable, as tensor expressions have it.
            at_least = tirx.IntImm(str(iterator.ty.dtype), max(2, end - begin))
            domain = Range.from_min_extent(variable.dom.min, at_least)
            self.of_indices.bind(variable.var, domain if is_iterator else variable.dom)

    def store(self, store: tirx.BufferStore) -> tirx.Stmt:
        """Return the store of an element, whose index is the iterator of the block, as before."""
        buffer = self.part.buffers.get(store.buffer, store.buffer)
        return tirx.BufferStore(buffer, self._mapped(store.value), store.indices)

    def region(self, region: TensorRegion) -> TensorRegion:
        """Return the region that the block reads or writes."""
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
                (Var, lambda var: self.later if var.same_as(self.iterator) else var),
                (TensorLoad, self._load),
                (Call, self._call),
                (tirx.Select, self._select),
                ((tirx.Min, tirx.Max), self._bounded),
            ],
        )

    def _load(self, load: TensorLoad) -> tirx.Expr:
        """Return a load whose indices are those of the later iteration already."""
        axis = self.part.axes.get(load.source)
        if axis is None:
            return load
        indices = list(load.indices)
        indices[axis] = self._index(load.source, indices[axis])
        return self.part.buffers[load.source][tuple(indices)]

    def _index(self, source: Var, index: tirx.Expr) -> tirx.Expr:
        return self.of_indices.simplify(index - self.part.begins[source])

    def _bounded(self, expr: tirx.Min | tirx.Max) -> tirx.Expr:
        """Return a bound of indices, as where windows end."""
        is_index = mentions(expr, self.iterator) and not nodes_of(expr, TensorLoad)
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
        """Return a choice without the conditions that all iterations meet."""
        simplified = [(one, self.analyzer.simplify(one)) for one in conjuncts(condition)]
        if any(_is(one, 0) for _, one in simplified):
            return otherwise
        left = [one for one, known in simplified if not _is(known, 1)]
        if not left:
            return then
        return expr if len(left) == len(simplified) else make(tirx.all(*left), then, otherwise)


def _is(expr: tirx.Expr, value: int) -> bool:
    return isinstance(expr, tirx.IntImm) and int(expr) == value
