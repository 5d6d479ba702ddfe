"""Sums of a spectrum under overlapping filters, and their square roots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from tvm import relax, tirx

from usmp.ops.emit import shape_of
from usmp.ops.quantized.rescaling.fixed_point import int32
from usmp.ops.signal.bits import uint32, uint64
from usmp.ops.statements import Local, call_statements, loop
from usmp.tir.nodes import sequence


@dataclass(frozen=True)
class FilterBank:
    """Filters, each of which overlaps the next one.

    Parameters
    ----------
    weights, unweights
        (m) of int16: weights of a number in its own channel, and in the next channel.
    frequency_starts, weight_starts, widths
        (channels + 1) of int16: a channel's first index in the spectrum and in the weights, and
        count of numbers. The first channel has no result, but adds numbers to the next channel.

    Raises
    ------
    ValueError
        a channel reaches beyond the weights, or a width or start is negative; starts of channels
        of width 0 are not read.
    """

    weights: np.ndarray
    unweights: np.ndarray
    frequency_starts: np.ndarray
    weight_starts: np.ndarray
    widths: np.ndarray

    def __post_init__(self) -> None:
        """Refuse reads outside of the weights."""
        count = min(self.weights.size, self.unweights.size)
        if min(self._begins.min(), self.widths.min()) < 0 or self._ends[1] > count:
            raise ValueError("a channel of the filter bank reaches beyond its weights")

    @property
    def channels(self) -> int:
        """The number of sums."""
        return self.widths.size - 1

    @property
    def bins(self) -> int:
        """The least count of numbers in the spectrum."""
        return int(self._ends[0])

    @property
    def _begins(self) -> np.ndarray:
        """Each channel's first index in spectrum and weights; 0 if it reads nothing."""
        begins = np.stack([self.frequency_starts, self.weight_starts]).astype(np.int64)
        return np.where(self.widths == 0, 0, begins)

    @property
    def _ends(self) -> np.ndarray:
        """The end of all channels in the spectrum and in the weights."""
        ends: np.ndarray = np.max(self._begins + self.widths, axis=1)
        return ends


def filter_bank(builder: relax.BlockBuilder, data: relax.Expr, filters: FilterBank) -> relax.Expr:
    """Return the sum of each channel.

    Parameters
    ----------
    data
        (n) of uint32, with n at least `filters.bins`.

    Returns
    -------
    relax.Expr
        (channels) of uint64.
    """
    total, rest = Local.of("total", "uint64"), Local.of("rest", "uint64")

    def body(
        data: tirx.Buffer,
        weights: tirx.Buffer,
        unweights: tirx.Buffer,
        frequency_starts: tirx.Buffer,
        weight_starts: tirx.Buffer,
        widths: tirx.Buffer,
        output: tirx.Buffer,
    ) -> tirx.Stmt:
        def add(channel: tirx.Expr | int) -> tirx.Stmt:
            index = tirx.Var("index", "int32")
            weight = weight_starts[channel].astype("int32") + index
            value = uint64(data[frequency_starts[channel].astype("int32") + index])
            sums = [
                total.add(uint64(weights[weight].astype("int64")) * value),
                rest.add(uint64(unweights[weight].astype("int64")) * value),
            ]
            extent = widths[channel].astype("int32")
            return tirx.For(index, 0, extent, tirx.ForKind.SERIAL, sequence(sums))

        def channel(number: tirx.Var) -> Iterator[tirx.Stmt]:
            yield total.set(rest.get())
            yield rest.set(uint64(0))
            yield add(number + 1)
            yield tirx.BufferStore(output, total.get(), [number])

        declared = [*total.declared(uint64(0)), *rest.declared(uint64(0))]
        return sequence([*declared, add(0), loop("channel", filters.channels, channel)])

    arguments = [
        ("data", data),
        ("weights", filters.weights),
        ("unweights", filters.unweights),
        ("frequency_starts", filters.frequency_starts),
        ("weight_starts", filters.weight_starts),
        ("widths", filters.widths),
    ]
    written = [("output", relax.TensorType((filters.channels,), "uint64"))]
    (result,) = call_statements(builder, "filter_bank", body, arguments, written)
    return result


def square_root(builder: relax.BlockBuilder, data: relax.Expr, shift: relax.Expr) -> relax.Expr:
    """Return the nearest integer to the square root of each number, over 2**`shift`.

    The integer saturates at half the bits of the number: at 16 bits for numbers below 2**32, else
    at 32 bits.

    Parameters
    ----------
    data
        (n) of uint64.
    shift
        an int32 without axes; only its lowest five bits count.

    Returns
    -------
    relax.Expr
        (n) of uint32.
    """
    (count,) = shape_of(data)

    def body(data: tirx.Buffer, shift: tirx.Buffer, output: tirx.Buffer) -> tirx.Stmt:
        root = Local.of("root", "uint32")

        def element(index: tirx.Var) -> Iterator[tirx.Stmt]:
            yield from root.declared(uint32(0))
            value = data[index]
            is_narrow = value < uint64(1 << 32)
            narrow = sequence(_root_of("uint32", value.astype("uint32"), root))
            wide = sequence(_root_of("uint64", value, root))
            yield tirx.IfThenElse(is_narrow, narrow, wide)
            amount = (shift[()] & int32(31)).astype("uint32")
            yield tirx.BufferStore(output, root.get() >> amount, [index])

        return loop("index", count, element)

    written = [("output", relax.TensorType((count,), "uint32"))]
    (result,) = call_statements(
        builder, "square_root", body, [("data", data), ("shift", shift)], written
    )
    return result


def _root_of(dtype: str, value: tirx.Expr, root: Local) -> Iterator[tirx.Stmt]:
    """Yield statements that set `root` to the rounded square root of `value`, bit by bit."""
    bits = int(dtype.removeprefix("uint"))

    def constant(number: int) -> tirx.Expr:
        return tirx.IntImm(dtype, number)

    rest, result, bit = (Local.of(name, dtype) for name in ("rest", "found", "bit"))
    yield from rest.declared(value)
    yield from result.declared(constant(0))
    yield from bit.declared(constant(1 << (bits - 2)))
    trial = Local.of("trial", dtype)

    def digit(_: tirx.Var) -> Iterator[tirx.Stmt]:
        yield from trial.declared(result.get() + bit.get())
        yield result.set(result.get() >> constant(1))
        subtract = [rest.set(rest.get() - trial.get()), result.add(bit.get())]
        yield tirx.IfThenElse(rest.get() >= trial.get(), sequence(subtract), None)
        yield bit.set(bit.get() >> constant(2))

    yield loop("digit", bits // 2, digit)
    greatest = constant((1 << (bits // 2)) - 1)
    rounds_up = tirx.all(rest.get() > result.get(), result.get() != greatest)
    yield tirx.IfThenElse(rounds_up, result.add(constant(1)), None)
    yield root.set(result.get().astype("uint32"))
