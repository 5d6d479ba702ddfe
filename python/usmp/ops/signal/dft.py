"""Discrete Fourier transforms of float32, of any length: fast for real numbers of some lengths
(`is_fast`), else as sums of products.

A complex number is a pair of float32 along the last axis; a real number has one element there.
"""

from __future__ import annotations

import math

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.signal.real_fft import has_real_fft
from usmp.ops.signal.real_fft_2d import rfft_2d

LONGEST_SUM = 4096
"""The longest transform as sums of products, which takes the square of its length in steps."""


def is_fast(data: relax.Expr, length: int, inverse: bool) -> bool:
    """Return whether `dft` uses a fast transform: for real numbers of a supported length."""
    return not inverse and shape_of(data)[-1] == 1 and has_real_fft(length)


def dft(
    builder: relax.BlockBuilder, data: relax.Expr, length: int, *, inverse: bool, onesided: bool
) -> relax.Expr:
    """Return the transforms along the second-last axis.

    Parameters
    ----------
    data
        (..., numbers, 1 or 2) of float32; cropped or zero-padded to `length`. A `onesided` inverse
        reads the first `length // 2 + 1` numbers of a spectrum; its other numbers mirror them.
    inverse
        whether to compute the inverse, with the factor 1 / `length`.
    onesided
        whether to return only `length // 2 + 1` numbers; for an inverse, real numbers.

    Returns
    -------
    relax.Expr
        (..., numbers, 2), or (..., numbers, 1) for a `onesided` inverse.
    """
    shape = shape_of(data)
    if not is_fast(data, length, inverse):
        rows = builder.emit(relax.op.reshape(data, (math.prod(shape[:-2]), *shape[-2:])))
        result = builder.emit(_sums(builder, rows, length, inverse, onesided))
        return relax.op.reshape(result, (*shape[:-2], *shape_of(result)[1:]))
    rows = builder.emit(relax.op.reshape(data, (math.prod(shape[:-2]), 1, shape[-2])))
    half = builder.emit(rfft_2d(builder, rows, 1, length))
    half = builder.emit(relax.op.reshape(half, (*shape[:-2], length // 2 + 1, 2)))
    return half if onesided else _mirrored(builder, half, length)


def _mirrored(builder: relax.BlockBuilder, half: relax.Expr, length: int) -> relax.Expr:
    """Return the whole spectrum of real numbers from its first half."""
    outer_shape = shape_of(half)[:-2]

    def compute(half: te.Tensor) -> te.Tensor:
        def element(*at: tirx.Var) -> tirx.Expr:
            *outer, index, part = at
            is_first = index <= length // 2
            value = half(*outer, tirx.if_then_else(is_first, index, length - index), part)
            return tirx.Select(tirx.any(is_first, part.equal(0)), value, -value)

        return te.compute((*outer_shape, length, 2), element, "spectrum")

    return call_operator(builder, "mirrored_spectrum", compute, [half])


def _sums(
    builder: relax.BlockBuilder, rows: relax.Expr, length: int, inverse: bool, onesided: bool
) -> relax.Expr:
    """Transform (rows, numbers, 1 or 2) by sums of products with a table of roots of unity."""
    count, numbers, parts = shape_of(rows)
    is_real = inverse and onesided
    half = length // 2 + 1
    results = half if onesided and not inverse else length
    used = min(numbers, half if is_real else length)
    table = _table(length, parts, 1 if is_real else 2, inverse)
    weights = np.full(used, 1 / length if inverse else 1, np.float32)
    if is_real:
        # Numbers with a mirror image count twice, because the sum leaves out the image.
        weights[1 : (length + 1) // 2] *= 2

    def compute(rows: te.Tensor, table: te.Tensor, weights: te.Tensor) -> te.Tensor:
        number = te.reduce_axis((0, used), "number")
        part = te.reduce_axis((0, parts), "part")

        def element(row: tirx.Var, index: tirx.Var, to: tirx.Var) -> tirx.Expr:
            root = table(tirx.floormod(index * number, length), to, part)
            value = rows(row, number, part)
            if inverse:
                value = value * weights(number)
            return te.sum(value * root, axis=[number, part])

        return te.compute((count, results, table.shape[1]), element, "sums")

    return call_operator(builder, "dft", compute, [rows, table, weights])


def _table(length: int, parts: int, results: int, inverse: bool) -> np.ndarray:
    """Return matrices that multiply by each root of unity: (length, results, parts)."""
    angle = np.arange(length) * (2 * np.pi / length)
    real, imaginary = np.cos(angle), np.sin(angle) * (1 if inverse else -1)
    turned = np.array([[real, -imaginary], [imaginary, real]], np.float32)
    return np.ascontiguousarray(np.moveaxis(turned, -1, 0)[:, :results, :parts])
