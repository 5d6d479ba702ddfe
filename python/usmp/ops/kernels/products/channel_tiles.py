"""Sums of products in float32, int32 or int64, by tiles of neighbors on the output's last axis.

Each output of a tile has an accumulator, and one reduction loop updates all of them. A factor that
they share is loaded once, and C compilers keep the accumulators in registers, or in one vector.
Each output sums the same products in the same order, so floats stay bit-identical. Outputs are
stored in the order of plain loops, so they may overwrite as many inputs. Tiles whose windows lie in
the data do not test for padding. Sums of 64 bits use 32 where no partial sum can overflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod

import tvm_ffi
from tvm import DataType, DataTypeCode, s_tir, tirx
from tvm.ir import Call, IRModule, TensorLoad
from tvm.sym import Analyzer

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import PORTABLE, Core
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.call.operator_parts import OperatorParts, substituted, take_apart
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.loops import counted, loop, loop_by_tiles, tile_counts, unrolled_loop
from usmp.tir.nodes import conjuncts, mentions, nodes_of, sequence
from usmp.tir.op_names import is_op

_TILES = {"float32": (8, 4, 2, 1), "int32": (4, 2, 1), "int64": (2, 1)}
"""Numbers of accumulators that fit registers, by their dtype."""

_LEAST_PRODUCTS = 2048
"""The least number of products for which the time saved is worth the code."""

_VECTOR = 8
"""The least number of consecutive integer products that C compilers for hosts vectorize well."""

_Known = dict[tirx.Var, tirx.Expr]


def channel_tiles_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return a kernel for sums of products that have no kernel of their own, else None."""
    parts = call.parts or take_apart(_with_last_stage(call.func))
    if (
        parts is None
        or not parts.output.shape
        or not parts.covers_output
        or not _is_sum_of_products(parts)
        or _repeats_calls(parts)
    ):
        return None
    dtype = _type_of_sums(parts)
    sizes = _TILES.get(dtype)
    if sizes is None or int(parts.output.shape[-1]) < sizes[-2]:
        return None
    if prod(parts.extents) < _LEAST_PRODUCTS or (core == PORTABLE and _has_vectors(parts)):
        return None
    largest = next(size for size, _ in tile_counts(int(parts.output.shape[-1]), sizes))
    schedule = Schedule(counted(largest, "output"))
    tiled = TiledBody(_Tiles(parts, dtype, sizes).loops(), schedule)
    return kernel(call, [tiled], {})


def _with_last_stage(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Split a last block that sums in the output into a sum in scratch memory and a store."""
    if not isinstance(func.body, s_tir.SBlockRealize):
        return func
    schedule = s_tir.Schedule(IRModule({"main": func}), error_render_level="none")
    blocks = schedule.get_child_blocks(schedule.get_sblock(func.body.block.name_hint))
    if not blocks or schedule.get(blocks[-1]).init is None:
        return func
    schedule.cache_write(blocks[-1], 0, "local")
    return schedule.mod["main"]


def _is_sum_of_products(parts: OperatorParts) -> bool:
    sources = {load.source for load in _summed_loads(parts)}
    calls = [call for call in nodes_of(parts.sum, Call) if not is_op(call, "prim.if_then_else")]
    is_cheap = parts.reduction is tirx.Add and not calls and not nodes_of(parts.sum, tirx.Div)
    product = _guarded_product(parts.sum)[1]
    return isinstance(product, tirx.Mul) and len(sources) == 2 and is_cheap


def _summed_loads(parts: OperatorParts) -> list[TensorLoad]:
    """Return the loads that differ between products, unlike a zero point computed at run time."""
    reduced = parts.axes[len(parts.indices) :]
    return [
        load
        for load in nodes_of(parts.sum, TensorLoad)
        if any(mentions(index, axis) for index in load.indices for axis in reduced)
    ]


def _has_vectors(parts: OperatorParts) -> bool:
    """Return whether C compilers vectorize the plain loops: products are of consecutive bytes."""
    loads = _summed_loads(parts)
    is_row = parts.extents[-1] >= _VECTOR and all(
        mentions(load.indices[-1], parts.axes[-1]) for load in loads
    )
    return is_row and all(str(load.source.dtype) in ("int8", "uint8") for load in loads)


def _guarded_product(expr: tirx.Expr) -> tuple[list[tirx.Expr], tirx.Expr]:
    """Return the conditions that hold where a summand is not zero, and the summand without these
    conditions and without its cast to the dtype of the sum."""
    guards, added = _guarded(_unconverted(expr))
    added = _unconverted(added)
    if not isinstance(added, tirx.Mul):
        return guards, added
    (of_a, a), (of_b, b) = _guarded(added.a), _guarded(added.b)
    return [*guards, *of_a, *of_b], a * b


def _guarded(expr: tirx.Expr) -> tuple[list[tirx.Expr], tirx.Expr]:
    """Return the conditions that hold where an integer is not zero, and its value under them."""
    if isinstance(expr, Call) and is_op(expr, "prim.if_then_else"):
        condition, inside, outside = expr.args
        if isinstance(outside, tirx.IntImm) and not int(outside):
            return conjuncts(condition), inside
    return [], expr


def _unconverted(expr: tirx.Expr) -> tirx.Expr:
    """Return the operand of a cast between integers that keeps all values, else `expr`."""
    if not isinstance(expr, tirx.Cast):
        return expr
    types = [DataType(str(e.ty.dtype)) for e in (expr.value, expr)]
    are_integers = all(type_.type_code == DataTypeCode.INT for type_ in types)
    return expr.value if are_integers and types[0].bits <= types[1].bits else expr


def _type_of_sums(parts: OperatorParts) -> str:
    """Return the dtype of accumulators: int32 if no partial sum overflows it."""
    dtype = str(parts.accumulator.dtype)
    if dtype != "int64":
        return dtype
    # Replace `if_then_else` by `Select`, because the analyzer bounds no calls.
    added = tvm_ffi.structural_map(parts.sum, (Call, _as_select))
    bound = Analyzer().const_int_bound(added)
    largest = max(-int(bound.min_value), int(bound.max_value))
    count = prod(parts.extents[len(parts.indices) :])
    return "int32" if count * largest < 1 << 31 else dtype


def _as_select(call: Call) -> tirx.Expr:
    return tirx.Select(*call.args) if is_op(call, "prim.if_then_else") else call


def _repeats_calls(parts: OperatorParts) -> bool:
    """Return whether outputs would repeat calls or divisions that a stage computed once, because
    several outputs share them or the epilogue reads the accumulator several times."""
    costly = [c for c in nodes_of(parts.value, Call) if is_op(c, "tirx.call_pure_extern")]
    costly += nodes_of(parts.value, tirx.Div)
    loads = _loads(parts.value, parts.accumulator)
    return any(_is_shared(node, parts) for node in costly) or bool(costly and loads > 1)


def _is_shared(node: tirx.Expr, parts: OperatorParts) -> bool:
    """Return whether several outputs share a value, because the value reads no accumulator and
    does not depend on all indices of the output."""
    axes = zip(parts.indices, parts.output.shape, strict=True)
    is_of_one = all(int(extent) == 1 or mentions(node, index) for index, extent in axes)
    return not is_of_one and not _loads(node, parts.accumulator)


def _loads(expr: tirx.Expr, buffer: tirx.Var) -> int:
    return sum(load.source.same_as(buffer) for load in nodes_of(expr, TensorLoad))


@dataclass(frozen=True)
class _Tiles:
    """The loops around the sums of an operator.

    Parameters
    ----------
    dtype
        element type of the accumulators.
    sizes
        sizes of tiles, in elements of the last axis, the greatest first.
    """

    parts: OperatorParts
    dtype: str
    sizes: tuple[int, ...]

    @property
    def outer(self) -> tuple[tirx.Var, ...]:
        """The axes of the output without the last one."""
        return self.parts.axes[: len(self.parts.indices) - 1]

    @property
    def last(self) -> tirx.Var:
        """The last axis of the output, in the sum."""
        return self.parts.axes[len(self.parts.indices) - 1]

    @property
    def reduced(self) -> tuple[tirx.Var, ...]:
        """The reduction axes."""
        return self.parts.axes[len(self.parts.indices) :]

    def loops(self) -> tirx.Stmt:
        """Return the loops of the whole operator."""
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
            bindings = {**known, self.last: begin}
            inside = self._inside(bindings, guards, size)
            if inside is None:
                return list(self._tile(bindings, size, is_inside))
            whole = sequence(self._tile(bindings, size, True))
            return [tirx.IfThenElse(inside, whole, self._guarded_tile(bindings, size))]

        extent = int(self.parts.output.shape[-1])
        return loop_by_tiles("j", extent, self.sizes, tile, str(self.last.ty.dtype))

    def _inside(self, known: _Known, guards: list[tirx.Expr], size: int) -> tirx.Expr | None:
        """Return the condition that all guards hold for all products of a tile; None without
        guards. Guards are linear, so that testing the corners suffices."""
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

    def _guarded_tile(self, known: _Known, size: int) -> tirx.Stmt:
        """Return loops for a tile with padding. Integers are summed one output at a time, because
        guards then skip whole loops."""
        if not _guarded_product(self.parts.sum)[0]:
            return sequence(self._tile(known, size, False))

        def element(n: tirx.Expr) -> tirx.Stmt:
            return sequence(self._tile({**known, self.last: known[self.last] + n}, 1, False))

        return loop("n", size, element, str(self.last.ty.dtype))

    def _tile(self, known: _Known, size: int, is_inside: bool) -> Iterator[tirx.Stmt]:
        parts = self.parts
        acc = tirx.decl_buffer((size,), self.dtype, "acc", scope="local")
        yield tirx.AllocBuffer(acc)
        zero = tirx.const(0, self.dtype)
        yield unrolled_loop("n", size, lambda n: tirx.BufferStore(acc, zero, [n]))
        added = _unguarded(parts.sum) if is_inside else parts.sum
        yield self._sums(known, self._reduced_extents(), acc, size, *_guarded_product(added))

        def store(n: tirx.Expr) -> tirx.Stmt:
            indices = [*(known[axis] for axis in self.outer), known[self.last] + n]
            total = acc[n].astype(str(parts.accumulator.dtype))
            return tirx.BufferStore(parts.output, parts.element(total, indices), indices)

        yield unrolled_loop("n", size, store, str(self.last.ty.dtype))

    def _sums(
        self,
        known: _Known,
        axes: list[tuple[tirx.Var, int]],
        acc: tirx.Var,
        size: int,
        guards: list[tirx.Expr],
        added: tirx.Expr,
    ) -> tirx.Stmt:
        """Return loops over reduction axes that add products where the guards hold. A guard is
        hoisted out of the loops that it does not depend on."""
        inner = [axis for axis, _ in axes] + ([self.last] if size > 1 else [])
        hoisted: list[tirx.Expr] = []
        remaining: list[tirx.Expr] = []
        for guard in guards:
            (remaining if any(mentions(guard, axis) for axis in inner) else hoisted).append(guard)
        if hoisted:
            sums = self._sums(known, axes, acc, size, remaining, added)
            return tirx.IfThenElse(substituted(reduce(tirx.And, hoisted), known), sums, None)
        if axes:
            (first, extent), *rest = axes
            return loop(
                "k",
                extent,
                lambda k: self._sums({**known, first: k}, rest, acc, size, guards, added),
                str(first.ty.dtype),
            )
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
            bindings = {**known, self.last: known[self.last] + n}
            value = acc[n] + substituted(factors[0] * factors[1], bindings).astype(self.dtype)
            store = tirx.BufferStore(acc, value, [n])
            if not guards:
                return store
            return tirx.IfThenElse(substituted(reduce(tirx.And, guards), bindings), store, None)

        return sequence([*binds, unrolled_loop("n", size, update, str(self.last.ty.dtype))])


def _guards(expr: tirx.Expr) -> list[tirx.Expr]:
    """Return the conditions under which no element is padding; none if one is not linear."""
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
    """Return `expr` without its guards: its value where they hold."""

    def chosen(call: Call) -> tirx.Expr:
        return call.args[1] if is_op(call, "prim.if_then_else") else call

    return tvm_ffi.structural_map(expr, (Call, chosen))
