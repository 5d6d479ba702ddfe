"""Sums of products of any type, several neighbors of the output's last axis at a time.

An accumulator each, a loop around all: what the neighbors share is loaded once, and C compilers
keep the accumulators in registers, or in one vector. Each output is the same sum in the same order,
so floats stay bit-identical, and outputs follow each other as before, so they may lie over the
inputs as before. Where no element of a window is padding, none is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod

import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import Call, IRModule, TensorLoad

from usmp.analysis.memory.addresses import is_op
from usmp.objects.cores import Core
from usmp.objects.schedule import Schedule
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops import counted, loop, loop_by_tiles, tile_counts, unrolled_loop
from usmp.ops.kernels.operator_call import OperatorCall
from usmp.ops.kernels.operator_parts import OperatorParts, substituted, take_apart
from usmp.tir.nodes import conjuncts, mentions, nodes_of, sequence

_TILES = {"float32": (8, 4, 2, 1), "int32": (4, 2, 1), "int64": (2, 1)}
"""Accumulators that have registers, by their type."""

_LEAST_PRODUCTS = 2048
"""With less, tiles are more code than they save time."""

_Known = dict[tirx.Var, tirx.Expr]


def channel_tiles_kernel(call: OperatorCall, _: Core) -> Kernel | None:
    """A convolution or a product of matrices that no kernel of its own is for."""
    parts = call.parts or take_apart(_with_last_stage(call.func))
    if parts is None or not _is_sum_of_products(parts) or _repeats_calls(parts):
        return None
    sizes = _TILES.get(str(parts.accumulator.dtype))
    if sizes is None or int(parts.output.shape[-1]) < sizes[-2]:
        return None
    if prod(parts.extents) < _LEAST_PRODUCTS:
        return None
    largest = next(size for size, _ in tile_counts(int(parts.output.shape[-1]), sizes))
    schedule = Schedule(counted(largest, "output"))
    tiled = TiledBody(_Tiles(parts, sizes).loops(), schedule)
    return kernel(call, [tiled], {})


def _with_last_stage(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Let what sums in the output itself sum elsewhere, and store the output after that."""
    if not isinstance(func.body, s_tir.SBlockRealize):
        return func
    schedule = s_tir.Schedule(IRModule({"main": func}), error_render_level="none")
    blocks = schedule.get_child_blocks(schedule.get_sblock(func.body.block.name_hint))
    if not blocks or schedule.get(blocks[-1]).init is None:
        return func
    schedule.cache_write(blocks[-1], 0, "local")
    return schedule.mod["main"]


def _is_sum_of_products(parts: OperatorParts) -> bool:
    sources = {load.source for load in nodes_of(parts.sum, TensorLoad)}
    calls = [call for call in nodes_of(parts.sum, Call) if not is_op(call, "prim.if_then_else")]
    is_cheap = parts.reduction is tirx.Add and not calls and not nodes_of(parts.sum, tirx.Div)
    product = _guarded_product(parts.sum)[1]
    return isinstance(product, tirx.Mul) and len(sources) == 2 and is_cheap


def _guarded_product(expr: tirx.Expr) -> tuple[tirx.Expr | None, tirx.Expr]:
    """What must hold for anything to be added to a sum of integers, and what is added then."""
    if isinstance(expr, Call) and is_op(expr, "prim.if_then_else"):
        condition, inside, outside = expr.args
        if isinstance(outside, tirx.IntImm) and not int(outside):
            return condition, inside
    return None, expr


def _repeats_calls(parts: OperatorParts) -> bool:
    """Whether an output would repeat what a stage computed once for several."""
    dear = [c for c in nodes_of(parts.value, Call) if is_op(c, "tirx.call_pure_extern")]
    dear += nodes_of(parts.value, tirx.Div)
    loads = _loads(parts.value, parts.accumulator)
    return any(not _loads(node, parts.accumulator) for node in dear) or bool(dear and loads > 1)


def _loads(expr: tirx.Expr, buffer: tirx.Var) -> int:
    return sum(load.source.same_as(buffer) for load in nodes_of(expr, TensorLoad))


@dataclass(frozen=True)
class _Tiles:
    """The loops around the sums of an operator.

    Parameters
    ----------
    sizes
        of tiles, in elements of the last axis, the greatest first.
    """

    parts: OperatorParts
    sizes: tuple[int, ...]

    @property
    def outer(self) -> tuple[tirx.Var, ...]:
        """The axes of the output but the last."""
        return self.parts.axes[: len(self.parts.indices) - 1]

    @property
    def last(self) -> tirx.Var:
        """The last axis of the output, in the sum."""
        return self.parts.axes[len(self.parts.indices) - 1]

    @property
    def reduced(self) -> tuple[tirx.Var, ...]:
        """The axes that are summed."""
        return self.parts.axes[len(self.parts.indices) :]

    def loops(self) -> tirx.Stmt:
        """All of the operator."""
        return self._outer_loops({}, self.outer)

    def _outer_loops(self, known: _Known, axes: tuple[tirx.Var, ...]) -> tirx.Stmt:
        if axes:
            first, *rest = axes
            extent = int(self.parts.output.shape[len(self.outer) - len(axes)])
            return loop(
                "i",
                extent,
                lambda i: self._outer_loops({**known, first: i}, tuple(rest)),
                str(first.ty.dtype),
            )
        guards = _guards(self.parts.sum)
        if any(mentions(guard, self.last) for guard in guards):
            return self._by_tiles(known, guards)
        inside = self._inside(known, guards, 1)
        if inside is None:
            return self._by_tiles(known, [])
        return tirx.IfThenElse(inside, self._by_tiles(known, [], True), self._by_tiles(known, []))

    def _by_tiles(
        self, known: _Known, guards: list[tirx.Expr], is_inside: bool = False
    ) -> tirx.Stmt:
        def tile(begin: tirx.Expr, size: int) -> list[tirx.Stmt]:
            here = {**known, self.last: begin}
            inside = self._inside(here, guards, size)
            if inside is None:
                return list(self._tile(here, size, is_inside))
            whole, guarded = (sequence(self._tile(here, size, i)) for i in (True, False))
            return [tirx.IfThenElse(inside, whole, guarded)]

        extent = int(self.parts.output.shape[-1])
        return loop_by_tiles("j", extent, self.sizes, tile, str(self.last.ty.dtype))

    def _inside(self, known: _Known, guards: list[tirx.Expr], size: int) -> tirx.Expr | None:
        """Whether the guards, which are linear, hold at the extremes of what a tile sums."""
        ends = {axis: (0, extent - 1) for axis, extent in self._reduced_extents()}
        conditions: list[tirx.Expr] = []
        for guard in guards:
            axes = [axis for axis in ends if mentions(guard, axis)]
            offsets = (0, size - 1) if size > 1 and mentions(guard, self.last) else (0,)
            for *corner, offset in product(*(ends[axis] for axis in axes), offsets):
                values = {
                    a: tirx.IntImm(str(a.ty.dtype), v) for a, v in zip(axes, corner, strict=True)
                }
                moved = {self.last: known[self.last] + offset} if self.last in known else {}
                conditions.append(substituted(guard, {**known, **values, **moved}))
        return reduce(tirx.And, conditions) if conditions else None

    def _reduced_extents(self) -> list[tuple[tirx.Var, int]]:
        extents = self.parts.extents[len(self.parts.indices) :]
        return list(zip(self.reduced, extents, strict=True))

    def _tile(self, known: _Known, size: int, is_inside: bool) -> Iterator[tirx.Stmt]:
        parts = self.parts
        dtype = str(parts.accumulator.dtype)
        acc = tirx.decl_buffer((size,), dtype, "acc", scope="local")
        yield tirx.AllocBuffer(acc)
        zero = tirx.const(0, dtype)
        yield unrolled_loop("n", size, lambda n: tirx.BufferStore(acc, zero, [n]))
        yield self._sums(known, self._reduced_extents(), acc, size, is_inside)

        def store(n: tirx.Expr) -> tirx.Stmt:
            indices = [*(known[axis] for axis in self.outer), known[self.last] + n]
            return tirx.BufferStore(parts.output, parts.element(acc[n], indices), indices)

        yield unrolled_loop("n", size, store, str(self.last.ty.dtype))

    def _sums(
        self,
        known: _Known,
        axes: list[tuple[tirx.Var, int]],
        acc: tirx.Var,
        size: int,
        is_inside: bool,
    ) -> tirx.Stmt:
        if axes:
            (first, extent), *rest = axes
            return loop(
                "k",
                extent,
                lambda k: self._sums({**known, first: k}, rest, acc, size, is_inside),
                str(first.ty.dtype),
            )
        added = _unguarded(self.parts.sum) if is_inside else self.parts.sum
        guard, added = _guarded_product(added)
        binds: list[tirx.Stmt] = []
        factors: list[tirx.Expr] = []
        for factor in (added.a, added.b):
            if mentions(factor, self.last):
                factors.append(factor)
                continue
            shared = tirx.Var("shared", str(factor.ty.dtype))
            binds.append(tirx.Bind(shared, substituted(factor, known)))
            factors.append(shared)

        def update(n: tirx.Expr) -> tirx.Stmt:
            here = {**known, self.last: known[self.last] + n}
            value = acc[n] + substituted(factors[0] * factors[1], here)
            store = tirx.BufferStore(acc, value, [n])
            if guard is None or not mentions(guard, self.last):
                return store
            return tirx.IfThenElse(substituted(guard, here), store, None)

        updates = sequence([*binds, unrolled_loop("n", size, update, str(self.last.ty.dtype))])
        if guard is None or mentions(guard, self.last):
            return updates
        return tirx.IfThenElse(substituted(guard, known), updates, None)


def _guards(expr: tirx.Expr) -> list[tirx.Expr]:
    """What must hold for no element to be padding; none if that is not linear."""
    guards = [
        part
        for call in nodes_of(expr, Call)
        if is_op(call, "prim.if_then_else")
        for part in conjuncts(call.args[0])
    ]
    return guards if all(_is_linear(guard) for guard in guards) else []


def _is_linear(expr: tirx.Expr) -> bool:
    if isinstance(expr, (tirx.LT, tirx.LE, tirx.GT, tirx.GE, tirx.Add, tirx.Sub)):
        return _is_linear(expr.a) and _is_linear(expr.b)
    if isinstance(expr, tirx.Mul):
        return _is_linear(expr.a) and isinstance(expr.b, tirx.IntImm)
    return isinstance(expr, (tirx.Var, tirx.IntImm))


def _unguarded(expr: tirx.Expr) -> tirx.Expr:
    """What `expr` is where its guards hold."""

    def chosen(call: Call) -> tirx.Expr:
        return call.args[1] if is_op(call, "prim.if_then_else") else call

    return tvm_ffi.structural_map(expr, (Call, chosen))
