"""The sums of products of the gates of an LSTM, of a few units at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tvm import tirx

from usmp.ops.quantized.epilogue import centered
from usmp.ops.statements import Local, loop
from usmp.tir.tensor_intrin import tensor_intrin


@dataclass(frozen=True)
class GateSums:
    """What each gate sums of the data and of the hidden state: (units) of int32 or int64."""

    of_data: list[tirx.Var]
    of_hidden: list[tirx.Var]

    @classmethod
    def of(cls, names: Sequence[str], dtype: str, number: int) -> GateSums:
        """Sums of gates of these names, and of this number of units."""

        def buffers(source: str) -> list[tirx.Var]:
            of_gates = (f"{name}_of_{source}" for name in names)
            return [tirx.decl_buffer((number,), dtype, name, scope="local") for name in of_gates]

        return cls(buffers("data"), buffers("hidden"))


def begin_sums(
    sums: Sequence[tirx.Var], value: Callable[[int, int], tirx.Expr]
) -> Iterator[tirx.Stmt]:
    """Make sums that begin with `value` of gate and unit."""
    for gate, total in enumerate(sums):
        yield tirx.AllocBuffer(total)
        for n in range(int(total.shape[0])):
            yield tirx.BufferStore(total, value(gate, n).astype(str(total.dtype)), [n])


def add_products(
    sums: Sequence[tirx.Var],
    row: Callable[[tirx.Expr], tirx.Expr],
    zero_point: int,
    weights: Sequence[tirx.Var],
    first: tirx.Expr,
) -> Iterator[tirx.Stmt]:
    """Add the products of a row of data with rows of the weights of each gate.

    Parameters
    ----------
    row, zero_point
        the k-th element of the row, of int8 or int16.
    weights
        (units, elements of the row) of int8.
    first
        the first of the units; of int16 there is only that.
    """
    zero = tirx.IntImm("int32", 0)
    extent = int(weights[0].shape[1])
    if str(row(zero).ty.dtype) == "int8":
        for total, weight in zip(sums, weights, strict=True):
            yield _dot_products(total, row, zero_point, weight, first)
        return

    def add(k: tirx.Var) -> Iterator[tirx.Stmt]:
        value = Local.of("value", "int32")
        yield from value.declared(centered(row(k), zero_point))
        for total, weight in zip(sums, weights, strict=True):
            product = value.get() * weight[first, k].astype("int32")
            added = total[0] + product.astype(str(total.dtype))
            yield tirx.BufferStore(total, added, [0])

    yield loop("k", extent, add)


def _dot_products(
    total: tirx.Var,
    row: Callable[[tirx.Expr], tirx.Expr],
    zero_point: int,
    weight: tirx.Var,
    first: tirx.Expr,
) -> tirx.Stmt:
    """Add the products with as many rows of a weight as there are sums."""
    zero = tirx.IntImm("int32", 0)
    units, extent = int(total.shape[0]), int(weight.shape[1])

    def add(k: tirx.Var) -> Iterator[tirx.Stmt]:
        for n in range(units):
            product = centered(row(k), zero_point) * weight[first + n, k].astype("int32")
            yield tirx.BufferStore(total, total[n] + product, [n])

    rows = [row(zero), 0, weight[first, zero], extent]
    arguments = [*rows, extent, -zero_point, total[0]]
    return tensor_intrin(f"tvmgen_dot_1x{units}", arguments, loop("k", extent, add))
