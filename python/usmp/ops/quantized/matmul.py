"""Quantized products of two computed matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.emit import call_operator
from usmp.ops.quantized.elementwise import broadcast_indices
from usmp.ops.quantized.rescaling.fixed_point import Rounding, centered, factor_of, multiply
from usmp.ops.quantized.rescaling.parameters import (
    OutputLimits,
    Quantization,
    farthest,
    require_no_zero_points,
)
from usmp.ops.records.products import BatchMatmul
from usmp.support.errors import UnsupportedModelError


def batch_matmul(
    builder: relax.BlockBuilder,
    left: relax.Expr | np.ndarray,
    right: relax.Expr | np.ndarray,
    quantizations: tuple[Quantization, Quantization, Quantization],
    transposed: tuple[bool, bool] = (False, False),
    limits: OutputLimits | None = None,
    rounding: Rounding | None = None,
    product_scale: float | None = None,
) -> relax.Expr:
    """Multiply left (..., rows, depth) by right (..., depth, columns); other axes are broadcast.

    Parameters
    ----------
    quantizations
        quantizations of left, right and output: all int8 or all int16; right may always be int8.
    transposed
        whether left is (..., depth, rows), and whether right is (..., columns, depth).
    limits
        limits of the output; by default, of its type.
    rounding
        rounding of the sums; by default, TFLite's rounding for the type.
    product_scale
        product of the scales of left and right, as the kernel rounds it; by default, exact.

    Raises
    ------
    UnsupportedModelError
        int16 with zero points other than 0, or sums that may leave 32 bits (48 for int16).
    """
    first, second, after = quantizations
    require_no_zero_points(quantizations)
    bounds = limits or after.limits()
    record = BatchMatmul(
        (first, second), (after,), transposed=transposed, clamp=bounds.ends, rounding=rounding
    )
    if rounding is None:
        rounding = Rounding.ONCE_16_BITS if after.dtype == "int16" else Rounding.TWICE
    scales = (first.scale, second.scale) if product_scale is None else (product_scale,)
    factor = factor_of(scales, after.scale, rounding)

    def compute(left: te.Tensor, right: te.Tensor) -> te.Tensor:
        shapes = [[int(extent) for extent in tensor.shape] for tensor in (left, right)]
        rows, depth = _swapped(shapes[0][-2:], transposed[0])
        _, columns = _swapped(shapes[1][-2:], transposed[1])
        _require_summable(depth, first, second, rounding)
        batches = np.broadcast_shapes(shapes[0][:-2], shapes[1][:-2])
        k = te.reduce_axis((0, depth), "k")

        def element(
            tensor: te.Tensor,
            indices: tuple[tirx.Expr, ...],
            last: list[tirx.Expr],
            quantization: Quantization,
        ) -> tirx.Expr:
            batch = broadcast_indices(list(tensor.shape)[:-2], indices, batches)
            return centered(tensor(*batch, *last), quantization.zero_point)

        def product(*indices: tirx.Var) -> tirx.Expr:
            *batch, row, column = indices
            x = element(left, tuple(batch), _swapped([row, k], transposed[0]), first)
            y = element(right, tuple(batch), _swapped([k, column], transposed[1]), second)
            # A single product fits into int32, even of int16.
            return te.sum((x * y).astype(rounding.accumulator), k)

        shape = (*batches, rows, columns)
        accumulator = te.compute(shape, product, "accumulator")

        def output(*indices: tirx.Var) -> tirx.Expr:
            total = accumulator(*indices)
            scaled = multiply(total, factor.multiplier, factor.shift, rounding)
            return bounds.shifted(scaled, after.zero_point)

        return te.compute(shape, output, "output")

    return call_operator(builder, "batch_matmul", compute, [left, right], record=record)


def _swapped(pair: list[Any], swap: bool) -> list[Any]:
    return pair[::-1] if swap else pair


def _require_summable(
    depth: int, first: Quantization, second: Quantization, rounding: Rounding
) -> None:
    largest = farthest(first) * farthest(second)
    bits = 48 if rounding is Rounding.ONCE_16_BITS else 32
    if depth * largest >= 2 ** (bits - 1):
        raise UnsupportedModelError(
            f"sums of {depth} products may leave the {bits}-bit integers; "
            f"at most {(2 ** (bits - 1) - 1) // largest} are supported"
        )
