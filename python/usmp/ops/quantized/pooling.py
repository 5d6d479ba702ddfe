"""Quantized pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantized.rescaling.fixed_point import Rounding, factor_of, multiply
from usmp.ops.quantized.rescaling.parameters import OutputLimits, Quantization, integer_limits
from usmp.ops.records.windowed import AveragePool, MaxPool, PoolOp
from usmp.ops.window import Layout, Layouts, Window


def average_pool(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    window: Window,
    limits: OutputLimits,
    layout: Layout,
    both: Quantization,
) -> relax.Expr:
    """Return the mean of the window's elements inside the data, rounded half away from zero.

    `both` is the quantization of input and output.
    """

    def mean(total: tirx.Expr, y: tirx.Var, x: tirx.Var) -> tirx.Expr:
        count = window.taps_inside(y, x)
        half = tirx.truncdiv(count, tirx.IntImm("int32", 2))
        zero = tirx.IntImm("int32", 0)
        rounded = tirx.Select(total > zero, total + half, total - half)
        return limits.clamp(tirx.truncdiv(rounded, count))

    record = _record(AveragePool, both, both, window, layout, limits, counts_padding=False)
    return _pool(builder, record, data, window, te.sum, 0, mean, layout)


def _record(
    kind: type[PoolOp],
    before: Quantization,
    after: Quantization,
    window: Window,
    layout: Layout,
    limits: OutputLimits,
    **others: Any,
) -> PoolOp:
    return kind(
        (before,),
        (after,),
        layout=Layouts(layout, layout),
        strides=window.strides,
        dilations=window.dilations,
        padding=window.padding,
        kernel=window.kernel,
        clamp=limits.ends,
        **others,
    )


def rescaled_average_pool(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    window: Window,
    before: Quantization,
    after: Quantization,
    limits: OutputLimits,
    layout: Layout,
    counts_padding: bool = False,
    rounding: Rounding = Rounding.TWICE,
) -> relax.Expr:
    """Return the mean of the window's elements, rescaled to the output.

    Parameters
    ----------
    counts_padding
        whether padding counts as zeros; else the mean is over the elements inside the data.
    """
    counts = [window.kernel[0] * window.kernel[1]] if counts_padding else window.tap_counts()
    factors = [factor_of((before.scale,), after.scale * count, rounding) for count in counts]

    def mean(total: tirx.Expr, y: tirx.Var, x: tirx.Var) -> tirx.Expr:
        count = tirx.IntImm("int32", counts[0]) if len(counts) == 1 else window.taps_inside(y, x)
        multiplier = _chosen(count, counts, [factor.multiplier for factor in factors])
        shift = _chosen(count, counts, [factor.shift for factor in factors])
        centered = total - tirx.IntImm("int32", before.zero_point) * count
        return limits.shifted(multiply(centered, multiplier, shift, rounding), after.zero_point)

    outside = before.zero_point if counts_padding else 0
    others = {"counts_padding": counts_padding, "rounding": rounding}
    record = _record(AveragePool, before, after, window, layout, limits, **others)
    return _pool(builder, record, data, window, te.sum, outside, mean, layout)


def _chosen(count: tirx.Expr, counts: Sequence[int], values: Sequence[int]) -> tirx.Expr:
    """Return the expression that selects the value of a count."""
    (_, chosen), *rest = [(c, tirx.IntImm("int32", v)) for c, v in zip(counts, values, strict=True)]
    for number, value in rest:
        chosen = tirx.Select(count == tirx.IntImm("int32", number), value, chosen)
    return chosen


def max_pool(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    window: Window,
    limits: OutputLimits,
    layout: Layout,
    both: Quantization,
) -> relax.Expr:
    """Return the greatest element of the window; `both` is the quantization of input and output."""
    least, _ = integer_limits("int32")

    def clamped(greatest: tirx.Expr, y: tirx.Var, x: tirx.Var) -> tirx.Expr:
        return limits.clamp(greatest)

    record = _record(MaxPool, both, both, window, layout, limits)
    return _pool(builder, record, data, window, te.max, least, clamped, layout)


def _pool(
    builder: relax.BlockBuilder,
    record: PoolOp,
    data: relax.Expr,
    window: Window,
    reduce: Callable[..., tirx.Expr],
    outside: int,
    finish: Callable[[tirx.Expr, tirx.Var, tirx.Var], tirx.Expr],
    layout: Layout,
) -> relax.Expr:
    """Reduce over the window, in which elements outside of the data are `outside`.

    `finish` maps a reduced int32, row and column to the output element.
    """
    batch, _, _, channels = layout.named(shape_of(data))
    shape = layout.order(batch, *window.output, channels)

    def compute(data: te.Tensor) -> te.Tensor:
        taps = window.taps()

        def value(*indices: tirx.Var) -> tirx.Expr:
            b, y, x, c = layout.named(indices)
            position = window.position((y, x), taps)
            element = data[layout.order(b, *position, c)].astype("int32")
            inside = window.inside(position)
            if inside is None:
                return element
            return tirx.if_then_else(inside, element, tirx.IntImm("int32", outside))

        accumulator = te.compute(shape, lambda *i: reduce(value(*i), taps), "accumulator")

        def output(*indices: tirx.Var) -> tirx.Expr:
            _, y, x, _ = layout.named(indices)
            return finish(accumulator[indices], y, x)

        return te.compute(shape, output, "output")

    return call_operator(builder, record.kind, compute, [data], record=record)
