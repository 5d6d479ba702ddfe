"""Operators on samples of int16 before a Fourier transform, and on the spectrum after it."""

from __future__ import annotations

from collections.abc import Iterable

from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantized.rescaling.fixed_point import int32
from usmp.ops.signal.bits import saturated_int16, significant_bits, uint32
from usmp.ops.statements import Local, call_statements, loop
from usmp.tir.nodes import sequence


def window(
    builder: relax.BlockBuilder, data: relax.Expr, weights: relax.Expr, shift: int
) -> relax.Expr:
    """Multiply rows of samples by the weights, shift right by `shift` bits, and saturate.

    Parameters
    ----------
    data
        (..., n) of int16.
    weights
        (n) of int16.
    shift
        0 to 31.
    """
    shape = shape_of(data)

    def compute(data: te.Tensor, weights: te.Tensor) -> te.Tensor:
        def element(*at: tirx.Var) -> tirx.Expr:
            product = data[at].astype("int32") * weights[at[-1]].astype("int32")
            return saturated_int16(product >> int32(shift))

        return te.compute(shape, element, "output")

    return call_operator(builder, "window", compute, [data, weights])


def fft_auto_scale(builder: relax.BlockBuilder, data: relax.Expr) -> list[relax.Expr]:
    """Return samples times the greatest power of two with which they fit 16 bits, and its exponent.

    The magnitude of -32768 wraps to -32768, as in the reference kernel; later samples replace it.

    Parameters
    ----------
    data
        (n) of int16.

    Returns
    -------
    list[relax.Expr]
        (n) of int16; the exponent, an int32 without axes.
    """
    (length,) = shape_of(data)

    def body(data: tirx.Buffer, output: tirx.Buffer, exponent: tirx.Buffer) -> Iterable[tirx.Stmt]:
        greatest, bits = Local.of("greatest", "int16"), Local.of("bits", "int32")
        yield from greatest.declared(tirx.IntImm("int16", 0))
        yield loop("index", length, lambda index: _raise_to(greatest, data[index]))
        magnitude = greatest.get().astype("int32")
        # Do not scale by a magnitude of 0, or by a negative one, which wrapped.
        headroom = int32(15) - significant_bits(magnitude)
        scale = tirx.if_then_else(magnitude > 0, headroom, int32(0))
        yield from bits.declared(scale)
        yield tirx.BufferStore(exponent, bits.get(), [])

        def scaled(index: tirx.Var) -> tirx.Stmt:
            value = data[index].astype("int32") << (bits.get() & int32(15))
            return tirx.BufferStore(output, value.astype("int16"), [index])

        yield loop("index", length, scaled)

    written = [
        ("output", relax.TensorType((length,), "int16")),
        ("exponent", relax.TensorType((), "int32")),
    ]
    return call_statements(
        builder, "fft_auto_scale", lambda *b: sequence(body(*b)), [("data", data)], written
    )


def _raise_to(greatest: Local, value: tirx.Expr) -> tirx.Stmt:
    """Return a statement that raises a number to the magnitude of a sample."""
    wide, current = value.astype("int32"), greatest.get().astype("int32")
    negative = tirx.IfThenElse(-wide > current, greatest.set((-wide).astype("int16")), None)
    return tirx.IfThenElse(wide > current, greatest.set(value), negative)


def energy(builder: relax.BlockBuilder, data: relax.Expr, begin: int, end: int) -> relax.Expr:
    """Return the squared magnitudes of complex numbers.

    Parameters
    ----------
    data
        (2 * n) of int16: real and imaginary part in turn.
    begin, end
        range of the numbers to compute; the other results are 0.

    Returns
    -------
    relax.Expr
        (n) of uint32.
    """
    bins = shape_of(data)[0] // 2

    def compute(data: te.Tensor) -> te.Tensor:
        def element(index: tirx.Var) -> tirx.Expr:
            real, imaginary = (data[index * 2 + part].astype("int32") for part in (0, 1))
            squares = (real * real).astype("uint32") + (imaginary * imaginary).astype("uint32")
            is_asked = tirx.all(index >= begin, index < end)
            return tirx.if_then_else(is_asked, squares, uint32(0))

        return te.compute((bins,), element, "output")

    return call_operator(builder, "energy", compute, [data])
