"""Fourier transforms of real numbers, by a transform of half as many complex numbers.

Even and odd numbers of the data are real and imaginary parts. Their spectra are separated again by
the symmetry of spectra of real numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from tvm import relax, tirx

from usmp.ops.emit import shape_of
from usmp.ops.signal.complex_arithmetic import Arithmetic, Complex, Steps
from usmp.ops.signal.fft import Index, Line, in_order, line_of, place_of, transformed
from usmp.ops.signal.fft_layout import FftLayout, is_supported
from usmp.ops.statements import call_statements, loop


def has_real_fft(length: int) -> bool:
    """Return whether there is a transform of this many real numbers."""
    return length % 2 == 0 and is_supported(length // 2)


def rfft(builder: relax.BlockBuilder, data: relax.Expr, length: int) -> relax.Expr:
    """Return the spectrum of each row of `data`, zero-padded to `length` numbers.

    Parameters
    ----------
    data
        (..., n) of int16, int32 or float32, with n at most `length`. The spectrum of fixed-point
        numbers is divided by `length`.

    Returns
    -------
    relax.Expr
        (..., length + 2): real and imaginary part in turn, up to half the sampling rate.

    Raises
    ------
    ValueError
        there is no transform of that length (`has_real_fft`).
    """
    layout = FftLayout(length // 2)
    *outer, count = shape_of(data)
    arithmetic = Arithmetic(str(data.ty.dtype))

    def body(
        data: tirx.Buffer, twiddles: tirx.Buffer, real: tirx.Buffer, output: tirx.Buffer
    ) -> tirx.Stmt:
        def row(row: tirx.Var) -> list[tirx.Stmt]:
            def element(index: Index) -> tirx.Expr:
                value = arithmetic.loaded(data, row, index)
                if count == length:
                    return value
                return tirx.if_then_else(index < count, value, tirx.const(0, arithmetic.sums))

            line = line_of(arithmetic, output, row)
            return spectrum(layout, arithmetic, element, line, twiddles, real)

        return loop("row", math.prod(outer), row)

    rows = builder.emit(relax.op.reshape(data, (math.prod(outer), count)))
    arguments = [
        ("data", rows),
        ("twiddles", layout.twiddles(arithmetic.dtype)),
        ("real_twiddles", layout.real_twiddles(arithmetic.dtype)),
    ]
    written = [
        ("output", relax.TensorType((math.prod(outer), length + 2), arithmetic.dtype)),
    ]
    (result,) = call_statements(builder, "rfft", body, arguments, written)
    return builder.emit(relax.op.reshape(result, (*outer, length + 2)))


def spectrum(
    layout: FftLayout,
    arithmetic: Arithmetic,
    element: Callable[[Index], tirx.Expr],
    line: Line,
    twiddles: tirx.Buffer,
    real_twiddles: tirx.Buffer,
) -> list[tirx.Stmt]:
    """Return statements that write the spectrum of twice as many real numbers as `layout` has.

    Parameters
    ----------
    element
        maps an index to a number of the data, in the type of sums.
    line
        the numbers of the spectrum, one more than the layout's length.
    """

    def copy(place: Index, index: Index) -> list[tirx.Stmt]:
        return line.store(place, Complex(element(index * 2), element(index * 2 + 1)))

    return [
        in_order(layout, copy),
        *transformed(layout, arithmetic, line, twiddles),
        *_separated(layout, arithmetic, line, real_twiddles),
    ]


def _separated(
    layout: FftLayout, arithmetic: Arithmetic, line: Line, twiddles: tirx.Buffer
) -> Iterator[tirx.Stmt]:
    """Yield statements that turn the spectrum of the pairs into one of real numbers, in place."""
    first = Steps(arithmetic)
    sums = first.keep("first", arithmetic.divided(line.load(0), 2))
    zero = tirx.const(0, arithmetic.sums)
    yield from first.statements
    yield from line.store(0, Complex(sums.real + sums.imaginary, zero))
    yield from line.store(layout.length, Complex(sums.real - sums.imaginary, zero))

    def pair(number: tirx.Var) -> list[tirx.Stmt]:
        low, high = number + 1, layout.length - 1 - number
        steps = Steps(arithmetic)
        total, turned = _combined(steps, line, twiddles, number, low, high)
        twice = total + turned, (total - turned).conjugate
        stores = zip((low, high), twice, strict=True)
        return [
            *steps.statements,
            *(s for at, value in stores for s in line.store(at, arithmetic.halves(value))),
        ]

    yield loop("number", layout.length // 2, pair)


def _combined(
    steps: Steps,
    line: Line,
    twiddles: tirx.Buffer,
    number: tirx.Expr,
    low: tirx.Expr,
    high: tirx.Expr,
) -> tuple[Complex, Complex]:
    """Return the sum of a number and the conjugate of the opposite number, and their difference
    times a twiddle."""
    arithmetic = steps.arithmetic
    opposite = steps.keep("opposite", line.load(high).conjugate)
    above = steps.keep("above", arithmetic.divided(line.load(low), 2))
    below = steps.keep("below", arithmetic.divided(opposite, 2))
    total = steps.keep("total", above + below)
    difference = steps.keep("difference", above - below)
    twiddle = Complex(*(arithmetic.loaded(twiddles, number, part) for part in (0, 1)))
    return total, steps.keep("turned", arithmetic.complex_product(difference, twiddle))


def irfft(builder: relax.BlockBuilder, data: relax.Expr) -> relax.Expr:
    """Return the real numbers whose spectra are the rows of `data`.

    Parameters
    ----------
    data
        (..., length + 2) of int16, int32 or float32: real and imaginary part in turn.

    Returns
    -------
    relax.Expr
        (..., length), divided by `length`: fixed-point numbers in each stage, floats at the end.

    Raises
    ------
    ValueError
        there is no transform of that length (`has_real_fft`).
    """
    *outer, count = shape_of(data)
    length = count - 2
    layout = FftLayout(length // 2)
    arithmetic = Arithmetic(str(data.ty.dtype))

    def body(
        data: tirx.Buffer, twiddles: tirx.Buffer, real: tirx.Buffer, output: tirx.Buffer
    ) -> tirx.Stmt:
        def row(row: tirx.Var) -> list[tirx.Stmt]:
            line = line_of(arithmetic, output, row)
            spectrum = line_of(arithmetic, data, row)
            return [
                *_joined(layout, arithmetic, spectrum, line, real),
                *transformed(layout, arithmetic, line, twiddles, inverse=True),
                *(_averages(output, row, length) if not arithmetic.is_fixed else ()),
            ]

        return loop("row", math.prod(outer), row)

    rows = builder.emit(relax.op.reshape(data, (math.prod(outer), count)))
    arguments = [
        ("data", rows),
        ("twiddles", layout.twiddles(arithmetic.dtype, inverse=True)),
        ("real_twiddles", layout.real_twiddles(arithmetic.dtype, inverse=True)),
    ]
    written = [("output", relax.TensorType((math.prod(outer), length), arithmetic.dtype))]
    (result,) = call_statements(builder, "irfft", body, arguments, written)
    return builder.emit(relax.op.reshape(result, (*outer, length)))


def _joined(
    layout: FftLayout, arithmetic: Arithmetic, spectrum: Line, line: Line, twiddles: tirx.Buffer
) -> Iterator[tirx.Stmt]:
    """Yield statements that turn a spectrum of real numbers into one of pairs, in stage order."""
    first = Steps(arithmetic)
    low, high = spectrum.load(0).real, spectrum.load(layout.length).real
    ends = first.keep("ends", Complex(low + high, low - high))
    yield from first.statements
    yield from line.store(0, arithmetic.divided(ends, 2))

    def pair(number: tirx.Var) -> list[tirx.Stmt]:
        low, high = number + 1, layout.length - 1 - number
        steps = Steps(arithmetic)
        total, turned = _combined(steps, spectrum, twiddles, number, low, high)
        opposite = steps.keep("mirrored", total - turned)
        return [
            *steps.statements,
            *line.store(place_of(layout, low), total + turned),
            *line.store(place_of(layout, high), opposite.conjugate),
        ]

    yield loop("number", layout.length // 2, pair)


def _averages(output: tirx.Buffer, row: tirx.Var, length: int) -> Iterator[tirx.Stmt]:
    """Yield a loop that divides a row by its length."""
    divisor = tirx.FloatImm(str(output.dtype), float(length))
    yield loop(
        "index",
        length,
        lambda index: tirx.BufferStore(output, output[row, index] / divisor, [row, index]),
    )
