"""Fourier transforms of real matrices, and functions of complex numbers.

A complex number is a pair of float32 along an additional last axis.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.signal.complex_arithmetic import Arithmetic
from usmp.ops.signal.fft import Index, Line, in_order, line_of, transformed
from usmp.ops.signal.fft_layout import FftLayout
from usmp.ops.signal.real_fft import spectrum
from usmp.ops.statements import call_statements, loop
from usmp.tir.nodes import sequence


def rfft_2d(builder: relax.BlockBuilder, data: relax.Expr, height: int, width: int) -> relax.Expr:
    """Return the spectra of matrices, cropped or zero-padded to `height` and `width`.

    Parameters
    ----------
    data
        (..., rows, columns) of float32.

    Returns
    -------
    relax.Expr
        (..., height, width // 2 + 1, 2).

    Raises
    ------
    ValueError
        there is no transform of `height` numbers, if it is not 1, or of `width` real numbers.
    """
    *outer, rows, columns = shape_of(data)
    matrices, arithmetic = math.prod(outer), Arithmetic("float32")
    across, down = FftLayout(width // 2), FftLayout(height) if height > 1 else None

    def body(*buffers: tirx.Buffer) -> tirx.Stmt:
        data, twiddles, real, *downward, output = buffers

        def row(matrix: tirx.Var, place: Index, index: Index) -> list[tirx.Stmt]:
            def element(column: Index) -> tirx.Expr:
                value = data[matrix, index, column]
                inside = [*_inside(index, rows, height), *_inside(column, columns, width)]
                if not inside:
                    return value
                return tirx.if_then_else(tirx.all(*inside), value, tirx.const(0, arithmetic.sums))

            line = line_of(arithmetic, output, matrix, place)
            return spectrum(across, arithmetic, element, line, twiddles, real)

        def matrix(number: tirx.Var) -> Iterator[tirx.Stmt]:
            if down is None:
                yield sequence(row(number, 0, 0))
                return

            def column(index: tirx.Var) -> Iterator[tirx.Stmt]:
                line = Line(
                    lambda place: arithmetic.complex(output, number, place, index),
                    lambda place, value: arithmetic.stores(output, value, number, place, index),
                )
                return transformed(down, arithmetic, line, downward[0])

            yield in_order(down, lambda place, index: row(number, place, index))
            yield loop("column", width // 2 + 1, column)

        return loop("matrix", matrices, matrix)

    arguments: list[tuple[str, relax.Expr | np.ndarray]] = [
        ("data", builder.emit(relax.op.reshape(data, (matrices, rows, columns)))),
        ("twiddles", across.twiddles("float32")),
        ("real_twiddles", across.real_twiddles("float32")),
    ]
    if down is not None:
        arguments.append(("column_twiddles", down.twiddles("float32")))
    written = [("output", relax.TensorType((matrices, height, width + 2), "float32"))]
    (result,) = call_statements(builder, "rfft_2d", body, arguments, written)
    return builder.emit(relax.op.reshape(result, (*outer, height, width // 2 + 1, 2)))


def _inside(index: Index, extent: int, length: int) -> list[tirx.Expr]:
    """Return the condition that the data has the element `index`; no condition if it has all."""
    return [index < tirx.IntImm("int32", extent)] if extent < length else []


def complex_part(builder: relax.BlockBuilder, data: relax.Expr, part: int) -> relax.Expr:
    """Return the real (0) or the imaginary (1) part of complex numbers."""
    shape = shape_of(data)[:-1]

    def compute(data: te.Tensor) -> te.Tensor:
        return te.compute(shape, lambda *at: data(*at, part), "output")

    return call_operator(builder, ("real", "imaginary")[part], compute, [data])


def magnitude(builder: relax.BlockBuilder, data: relax.Expr) -> relax.Expr:
    """Return the absolute value of complex numbers, without overflow of intermediates."""
    shape = shape_of(data)[:-1]

    def compute(data: te.Tensor) -> te.Tensor:
        return te.compute(shape, lambda *at: tirx.hypot(data(*at, 0), data(*at, 1)), "output")

    return call_operator(builder, "magnitude", compute, [data])
