"""Quantized reductions over some axes, one accumulator an output element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantization import stored_as
from usmp.ops.quantized.rescaling.fixed_point import (
    QuantizedMultiplier,
    Rounding,
    apply_multiplier,
    factor_of,
    quantize_multiplier,
)
from usmp.ops.quantized.rescaling.parameters import Quantization, integer_limits
from usmp.ops.records import QuantizedOp
from usmp.ops.records.reductions import ArgMax, ArgMin, Mean, ReduceMax, ReduceMin, Sum, SumOp
from usmp.support.errors import UnsupportedModelError


def mean(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    axes: Sequence[int],
    before: Quantization,
    after: Quantization,
    rounding: Rounding = Rounding.TWICE,
) -> relax.Expr:
    """Return the mean over `axes`, which are removed.

    Raises
    ------
    UnsupportedModelError
        a sum of so many elements may leave int32.
    """
    count = math.prod(shape_of(data)[axis] for axis in set(axes))
    factor = factor_of_mean(before, after, count, rounding)
    return _scaled_sum(builder, Mean, data, axes, before, after, factor, rounding)


def reduce_sum(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    axes: Sequence[int],
    before: Quantization,
    after: Quantization,
    rounding: Rounding = Rounding.TWICE,
) -> relax.Expr:
    """Return the sum over `axes`, which are removed.

    Raises
    ------
    UnsupportedModelError
        a sum of so many elements may leave int32.
    """
    factor = factor_of((before.scale,), after.scale, rounding)
    return _scaled_sum(builder, Sum, data, axes, before, after, factor, rounding)


def factor_of_mean(
    before: Quantization, after: Quantization, count: int, rounding: Rounding
) -> QuantizedMultiplier:
    """Return the factor from a sum of `count` elements to their mean."""
    if rounding is Rounding.AS_FLOAT:
        return factor_of((before.scale,), after.scale * count, rounding)
    return _divided(quantize_multiplier(before.scale / after.scale), count)


def _divided(factor: QuantizedMultiplier, count: int) -> QuantizedMultiplier:
    """Return the factor over `count`, with as many bits as fit."""
    shift = min(count.bit_length() - 1, 32, 31 + factor.shift)
    return QuantizedMultiplier((factor.multiplier << shift) // count, factor.shift - shift)


def _scaled_sum(
    builder: relax.BlockBuilder,
    kind: type[SumOp],
    data: relax.Expr,
    axes: Sequence[int],
    before: Quantization,
    after: Quantization,
    factor: QuantizedMultiplier,
    rounding: Rounding,
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
        centered = accumulator - tirx.IntImm("int32", before.zero_point * count)
        scaled = apply_multiplier(centered, factor, rounding)
        return limits.shifted(scaled, after.zero_point)

    record = kind((before,), (after,), axes=tuple(axes), rounding=rounding)
    return reduced(builder, record, data, axes, te.sum, lambda x: x.astype("int32"), finish)


def reduce_max(
    builder: relax.BlockBuilder, data: relax.Expr, axes: Sequence[int], both: Quantization
) -> relax.Expr:
    """Return the maximum over `axes`, which are removed; `both` quantizes input and output."""
    record = ReduceMax((both,), (both,), axes=tuple(axes))
    return reduced(builder, record, data, axes, te.max, lambda x: x, lambda x: x)


def reduce_min(
    builder: relax.BlockBuilder, data: relax.Expr, axes: Sequence[int], both: Quantization
) -> relax.Expr:
    """Return the minimum over `axes`, which are removed; `both` quantizes input and output."""
    record = ReduceMin((both,), (both,), axes=tuple(axes))
    return reduced(builder, record, data, axes, te.min, lambda x: x, lambda x: x)


def reduced(
    builder: relax.BlockBuilder,
    record: QuantizedOp,
    data: relax.Expr,
    axes: Sequence[int],
    reduce: Callable[..., tirx.Expr],
    take: Callable[[tirx.Expr], tirx.Expr],
    finish: Callable[[tirx.Expr], tirx.Expr],
) -> relax.Expr:
    """Reduce over `axes`, which are removed: `take` maps elements, and `finish` maps results."""
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

    return call_operator(builder, record.kind, compute, [data], record=record)


def argmax(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    axis: int,
    dtype: str,
    quantization: Quantization | None = None,
) -> relax.Expr:
    """Return the position along `axis`, which is removed, of the first greatest element.

    Parameters
    ----------
    dtype
        element type of the output.
    quantization
        quantization of the data, for the record.

    Raises
    ------
    UnsupportedModelError
        element and position do not fit into 32 bits together.
    """
    return _position(builder, data, axis, dtype, quantization, greatest=True)


def argmin(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    axis: int,
    dtype: str,
    quantization: Quantization | None = None,
) -> relax.Expr:
    """Return the position along `axis` of the first least element; see `argmax`."""
    return _position(builder, data, axis, dtype, quantization, greatest=False)


def _position(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    axis: int,
    dtype: str,
    quantization: Quantization | None,
    *,
    greatest: bool,
) -> relax.Expr:
    shape = shape_of(data)
    depth = shape[axis]
    least, most = integer_limits(str(data.ty.dtype))
    if (most - least + 1) * depth >= 2**31:
        raise UnsupportedModelError(
            f"an axis of {depth} elements of {data.ty.dtype}; "
            f"at most {(2**31 - 1) // (most - least + 1)} are supported"
        )
    extent = tirx.IntImm("int32", depth)
    last = tirx.IntImm("int32", depth - 1)

    def compute(data: te.Tensor) -> te.Tensor:
        k = te.reduce_axis((0, depth), "k")

        def key(*indices: tirx.Var) -> tirx.Expr:
            # The position breaks ties, so that the first of equal elements is chosen.
            rank = last - k.var if greatest else k.var
            element = data(*indices[:axis], k, *indices[axis:]).astype("int32")
            return (te.max if greatest else te.min)(element * extent + rank, k)

        def position(*indices: tirx.Var) -> tirx.Expr:
            rank = tirx.floormod(keys(*indices), extent)
            return (last - rank if greatest else rank).astype(dtype)

        extents = (*shape[:axis], *shape[axis + 1 :])
        keys = te.compute(extents, key, "key")
        return te.compute(extents, position, "output")

    kind, after = ArgMax if greatest else ArgMin, Quantization.unscaled(dtype)
    record = kind((stored_as(data, quantization),), (after,), axis=axis)
    return call_operator(builder, record.kind, compute, [data], record=record)
