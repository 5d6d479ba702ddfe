"""Sums of products for the gates of an LSTM, a few units at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tvm import tirx

from usmp.ops.dot_products import Run, dot_products
from usmp.ops.quantized.rescaling.fixed_point import centered
from usmp.ops.statements import Local, loop


@dataclass(frozen=True)
class GateSums:
    """Each gate's sums over the data and over the hidden state: (units) of int32 or int64."""

    of_data: list[tirx.Var]
    of_hidden: list[tirx.Var]

    @classmethod
    def of(cls, names: Sequence[str], dtype: str, number: int) -> GateSums:
        """Declare the sums of gates with these names, for a number of units."""

        def buffers(source: str) -> list[tirx.Var]:
            of_gates = (f"{name}_of_{source}" for name in names)
            return [tirx.decl_buffer((number,), dtype, name, scope="local") for name in of_gates]

        return cls(buffers("data"), buffers("hidden"))


def begin_sums(
    sums: Sequence[tirx.Var], value: Callable[[int, int], tirx.Expr]
) -> Iterator[tirx.Stmt]:
    """Allocate sums, and initialize them with `value(gate, unit)`."""
    for gate, total in enumerate(sums):
        yield tirx.AllocBuffer(total)
        for n in range(int(total.shape[0])):
            yield tirx.BufferStore(total, value(gate, n).astype(str(total.dtype)), [n])


def add_products(
    sums: Sequence[tirx.Var],
    row: Run,
    zero_point: int,
    weights: Sequence[tirx.Var],
    first: tirx.Expr,
) -> Iterator[tirx.Stmt]:
    """Multiply a row of data by rows of each gate's weights, and add the products to the sums.

    Parameters
    ----------
    row, zero_point
        the row, of int8 or int16, and its zero point.
    weights
        (units, elements of the row) of int8.
    first
        the first unit; for int16, the only one.
    """
    extent = int(weights[0].shape[1])
    if str(row.buffer.dtype) == "int8":
        for total, weight in zip(sums, weights, strict=True):
            rows = Run(weight, (first, tirx.IntImm("int32", 0)), extent)
            tile = (1, int(total.shape[0]))
            yield dot_products(row, rows, extent, -zero_point, total, tile)
        return

    def add(k: tirx.Var) -> Iterator[tirx.Stmt]:
        value = Local.of("value", "int32")
        yield from value.declared(centered(row.at(0, k), zero_point))
        for total, weight in zip(sums, weights, strict=True):
            product = value.get() * weight[first, k].astype("int32")
            added = total[0] + product.astype(str(total.dtype))
            yield tirx.BufferStore(total, added, [0])

    yield loop("k", extent, add)
