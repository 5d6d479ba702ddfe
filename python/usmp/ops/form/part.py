"""A PrimFunc that computes a part of an output along one axis, from parts of its operands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import Call, Range, TensorLoad, TensorRegion, Var

from usmp.ops.form.along import AxisAccess, AxisNest, Interval
from usmp.ops.form.resized import resized
from usmp.tir.nodes import conjuncts, is_const_int, mentions, nodes_of
from usmp.tir.op_names import is_op


def part_of(access: AxisAccess, indices: Interval, given: Mapping[int, Interval]) -> tirx.PrimFunc:
    """Return the PrimFunc that computes the output at some indices of the axis.

    Conditions that have the same value for all of these indices are folded.

    Parameters
    ----------
    indices
        the interval of output indices to compute.
    given
        index of a parameter in `access.reads` -> the available indices of this operand, which
        include all indices that are read.
    """
    params, output = access.form.func.params, access.form.output
    axes = {params[index]: read.axis for index, read in access.reads.items()}
    axes |= {**access.buffers, output: access.axis}
    kept = {params[index]: given[index] for index in access.reads}
    kept |= dict.fromkeys((*access.buffers, output), indices)
    begins = {buffer: (axes[buffer], begin) for buffer, (begin, _) in kept.items()}
    blocks = {nest.nest.block: _Moved(nest, indices, begins).block() for nest in access.nests}
    func = access.form.func
    body = tvm_ffi.structural_map(func.body, (s_tir.SBlock, lambda block: blocks.get(block, block)))
    count = indices[1] - indices[0]
    return resized(
        tirx.PrimFunc(func.params, body, func.ret_type, func.attrs),
        {buffer: {axes[buffer]: end - begin} for buffer, (begin, end) in kept.items()},
        {nest.iterator: count for nest in access.nests},
    )


class _Moved:
    """A block whose iteration 0 becomes the first iteration of the part.

    Parameters
    ----------
    begins
        buffer -> its axis, and the index that becomes the first one.
    """

    def __init__(
        self, nest: AxisNest, indices: Interval, begins: Mapping[Var, tuple[int, int]]
    ) -> None:
        (begin, end), iterator = indices, nest.iterator
        self.nest, self.begins, self.iterator = nest.nest, begins, iterator
        self.later = iterator + begin if begin else iterator
        self.analyzer, self.of_indices = nest.nest.analyzer(iterator), nest.nest.analyzer(iterator)
        # In indices, keep the iterator of a single iteration, as tensor expressions do.
        for analyzer, least in ((self.analyzer, 1), (self.of_indices, 2)):
            ends = (tirx.IntImm(str(iterator.ty.dtype), n) for n in (0, max(least, end - begin)))
            analyzer.bind(iterator, Range(*ends))

    def block(self) -> s_tir.SBlock:
        """Return the rewritten block."""
        block, (*init, body) = self.nest.block, map(self._store, self.nest.stores)
        reads, writes = ([*map(self._region, regions)] for regions in (block.reads, block.writes))
        return s_tir.SBlock(
            block.iter_vars, reads, writes, block.name_hint, body, init[0] if init else None
        )

    def _store(self, store: tirx.BufferStore) -> tirx.Stmt:
        """Return the store with a rewritten value; its indices still use the block's iterators."""
        return tirx.BufferStore(store.buffer, self._mapped(store.value), store.indices)

    def _region(self, region: TensorRegion) -> TensorRegion:
        """Return a region that the rewritten block reads or writes."""
        ranges = [
            Range.from_min_extent(self._mapped(one.min), self._mapped(one.extent))
            for one in region.region
        ]
        if region.source in self.begins:
            axis, begin = self.begins[region.source]
            moved = self.of_indices.simplify(ranges[axis].min - begin)
            ranges[axis] = Range.from_min_extent(moved, ranges[axis].extent)
        return tirx.BufferRegion(region.source, ranges)

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
        """Shift the index of a load, in which `self.later` already replaces the iterator."""
        if load.source not in self.begins:
            return load
        axis, begin = self.begins[load.source]
        indices = list(load.indices)
        indices[axis] = self.of_indices.simplify(indices[axis] - begin)
        return load.source[tuple(indices)]

    def _bounded(self, expr: tirx.Min | tirx.Max) -> tirx.Expr:
        """Simplify a bound of indices, such as the end of a window."""
        is_index = mentions(expr, self.iterator) and not nodes_of(expr, TensorLoad)
        return self.analyzer.simplify(expr) if is_index else expr

    def _call(self, call: Call) -> tirx.Expr:
        if not is_op(call, "prim.if_then_else"):
            return call
        condition, then, otherwise = call.args
        return self._decided(call, condition, then, otherwise, tirx.if_then_else)

    def _select(self, expr: tirx.Select) -> tirx.Expr:
        return self._decided(expr, expr.condition, expr.true_value, expr.false_value, tirx.Select)

    def _decided(
        self, expr: tirx.Expr, condition: tirx.Expr, then: Any, otherwise: Any, make: Any
    ) -> tirx.Expr:
        """Drop the conditions of a choice that hold in all iterations; if a condition holds in
        none, return `otherwise`."""
        simplified = [(term, self.analyzer.simplify(term)) for term in conjuncts(condition)]
        if any(is_const_int(term, 0) for _, term in simplified):
            return otherwise
        needed = [term for term, folded in simplified if not is_const_int(folded, 1)]
        if not needed:
            return then
        return expr if len(needed) == len(simplified) else make(tirx.all(*needed), then, otherwise)
