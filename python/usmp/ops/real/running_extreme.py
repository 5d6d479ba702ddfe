"""The largest or smallest element so far along an axis, and its position."""

from __future__ import annotations

import math

from tvm import relax, tirx

from usmp.ops.emit import shape_of
from usmp.ops.statements import Local, call_statements, loop
from usmp.tir.dtypes import is_float


def running_extreme(
    builder: relax.BlockBuilder, data: relax.Expr, axis: int, *, is_largest: bool
) -> list[relax.Expr]:
    """Return the extreme of each element and the elements before it along `axis`, and the last
    position of the extreme, int64. NaN replaces every number.

    Source: PyTorch, `cummax_helper_cpu`.
    """
    shape, dtype = shape_of(data), str(data.ty.dtype)
    axis %= len(shape)
    rows = (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))

    def body(source: tirx.Buffer, output: tirx.Buffer, places: tirx.Buffer) -> tirx.Stmt:
        best = Local.of("best", "int32")

        def row(outer: tirx.Var, inner: tirx.Var) -> list[tirx.Stmt]:
            def step(number: tirx.Var) -> list[tirx.Stmt]:
                new, old = source[outer, number, inner], source[outer, best.get(), inner]
                at = [outer, number, inner]
                return [
                    tirx.IfThenElse(_is_better(new, old, is_largest), best.set(number), None),
                    tirx.BufferStore(output, source[outer, best.get(), inner], at),
                    tirx.BufferStore(places, tirx.Cast("int64", best.get()), at),
                ]

            return [*best.declared(tirx.IntImm("int32", 0)), loop("step", rows[1], step)]

        return loop("i", rows[0], lambda i: loop("j", rows[2], lambda j: row(i, j)))

    flat = builder.emit(relax.op.reshape(data, rows))
    written = [
        (name, relax.TensorType(rows, t)) for name, t in (("output", dtype), ("places", "int64"))
    ]
    results = call_statements(builder, "running_extreme", body, [("data", flat)], written)
    return [builder.emit(relax.op.reshape(result, shape)) for result in results]


def _is_better(new: tirx.Expr, old: tirx.Expr, is_largest: bool) -> tirx.Expr:
    is_better = new >= old if is_largest else new <= old
    if not is_float(str(new.ty.dtype)):
        return is_better
    return tirx.Or(tirx.isnan(new), tirx.And(tirx.Not(tirx.isnan(old)), is_better))
