"""Quantised reductions over some axes, one accumulator an output element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tvm import relax, te, tirx

from usmp.objects.errors import UnsupportedModelError
from usmp.relax.quantised.emit import call_operator, shape_of
from usmp.relax.quantised.fixed_point import (
    QuantizedMultiplier,
    apply_multiplier,
    quantize_multiplier,
)
from usmp.relax.quantised.parameters import Quantisation, integer_limits


def mean(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    axes: Sequence[int],
    before: Quantisation,
    after: Quantisation,
) -> relax.Expr:
    """The mean over `axes`, which the output lacks.

    Raises
    ------
    UnsupportedModelError: a sum of so many elements may leave int32.
    """
    factor = quantize_multiplier(before.scale / after.scale)
    count = math.prod(shape_of(data)[axis] for axis in set(axes))
    return _scaled_sum(builder, "mean", data, axes, before, after, _divided(factor, count))


def total(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    axes: Sequence[int],
    before: Quantisation,
    after: Quantisation,
) -> relax.Expr:
    """The sum over `axes`, which the output lacks.

    Raises
    ------
    UnsupportedModelError: a sum of so many elements may leave int32.
    """
    factor = quantize_multiplier(before.scale / after.scale)
    return _scaled_sum(builder, "sum", data, axes, before, after, factor)


def _divided(factor: QuantizedMultiplier, count: int) -> QuantizedMultiplier:
    """The factor over `count`, with as many bits as fit."""
    shift = min(count.bit_length() - 1, 32, 31 + factor.shift)
    return QuantizedMultiplier((factor.multiplier << shift) // count, factor.shift - shift)


def _scaled_sum(
    builder: relax.BlockBuilder,
    name: str,
    data: relax.Expr,
    axes: Sequence[int],
    before: Quantisation,
    after: Quantisation,
    factor: QuantizedMultiplier,
) -> relax.Expr:
    count = math.prod(shape_of(data)[axis] for axis in set(axes))
    least, greatest = integer_limits(before.dtype)
    farthest = max(greatest - before.zero_point, before.zero_point - least, greatest, -least)
    if count * farthest >= 2**31:
        raise UnsupportedModelError(
            f"a sum of {count} elements of {before.dtype} may leave the 32-bit integers; "
            f"at most {(2**31 - 1) // farthest} are supported at zero point {before.zero_point}"
        )
    limits = after.limits()

    def finish(accumulator: tirx.Expr) -> tirx.Expr:
        centred = accumulator - tirx.IntImm("int32", before.zero_point * count)
        scaled = apply_multiplier(centred, factor)
        return limits.clamp(scaled + tirx.IntImm("int32", after.zero_point))

    return reduced(builder, name, data, axes, te.sum, lambda x: x.astype("int32"), finish)


def extreme(
    builder: relax.BlockBuilder, data: relax.Expr, axes: Sequence[int], *, greatest: bool
) -> relax.Expr:
    """The greatest or the least element over `axes`, which the output lacks."""
    name, reduce = ("reduce_max", te.max) if greatest else ("reduce_min", te.min)
    return reduced(builder, name, data, axes, reduce, lambda x: x, lambda x: x)


def reduced(
    builder: relax.BlockBuilder,
    name: str,
    data: relax.Expr,
    axes: Sequence[int],
    reduce: Callable[..., tirx.Expr],
    take: Callable[[tirx.Expr], tirx.Expr],
    finish: Callable[[tirx.Expr], tirx.Expr],
) -> relax.Expr:
    """`finish` of `reduce` of `take` of the elements over `axes`, which the output lacks."""
    shape = shape_of(data)
    kept = [axis for axis in range(len(shape)) if axis not in axes]

    def compute(data: te.Tensor) -> te.Tensor:
        reduce_axes = {axis: te.reduce_axis((0, shape[axis]), f"k{axis}") for axis in sorted(axes)}

        def element(*indices: tirx.Var) -> tirx.Expr:
            by_axis = {**reduce_axes, **dict(zip(kept, indices, strict=True))}
            position = tuple(by_axis[axis] for axis in range(len(shape)))
            value = take(data(*position))
            return reduce(value, list(reduce_axes.values())) if reduce_axes else value

        extents = tuple(shape[axis] for axis in kept)
        accumulator = te.compute(extents, element, "accumulator")
        return te.compute(extents, lambda *i: finish(accumulator(*i)), "output")

    return call_operator(builder, name, compute, [data])
