"""Sums and maxima of pixels of int8, four channels at a time, as tensor intrinsics."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tvm import tirx
from tvm.ir import TensorLoad

from usmp.ops.kernels.call.operator_parts import OperatorParts
from usmp.tir.nodes import sequence
from usmp.tir.tensor_intrin import tensor_intrin

CHANNELS = 4
"""Of a tile."""

Reduction: TypeAlias = type[tirx.Add] | type[tirx.Max]
_INTRINSICS = {tirx.Add: "tvmgen_sums_4", tirx.Max: "tvmgen_maxima_4"}

LEAST = {tirx.Add: 0, tirx.Max: -128}
"""What accumulators begin with."""


def reduced_element(parts: OperatorParts, value: tirx.Expr | None = None) -> TensorLoad | None:
    """Return the element of the data that is reduced; None unless elements are int8, and are
    reduced as they are in 32 bits.

    Parameters
    ----------
    value
        what is reduced, if not all of `parts.sum`.
    """
    value = parts.sum if value is None else value
    if not isinstance(value, tirx.Cast) or not isinstance(value.value, TensorLoad):
        return None
    load: TensorLoad = value.value
    types = str(load.source.dtype), str(parts.accumulator.dtype)
    return load if types == ("int8", "int32") else None


def beginnings(reduction: Reduction, acc: tirx.Var) -> list[tirx.Stmt]:
    """What accumulators begin with."""
    least = tirx.IntImm("int32", LEAST[reduction])
    return [tirx.BufferStore(acc, least, [n]) for n in range(int(acc.shape[0]))]


def reduced(
    reduction: Reduction,
    pixel: Callable[[tirx.Expr, int], tirx.Expr],
    distance: int,
    extent: tirx.Expr | int,
    acc: tirx.Var,
) -> tirx.Stmt:
    """Reduce pixels into accumulators.

    Parameters
    ----------
    pixel
        the element of the k-th pixel in the n-th of the channels.
    distance
        elements from one pixel to the next.
    extent
        number of pixels.
    acc
        (channels) of int32.
    """
    k = tirx.Var("k", "int32")
    number = int(acc.shape[0])
    stores = [
        tirx.BufferStore(acc, reduction(acc[n], pixel(k, n).astype("int32")), [n])
        for n in range(number)
    ]
    body = tirx.For(k, 0, extent, tirx.ForKind.SERIAL, sequence(stores))
    if number != CHANNELS:
        return body
    arguments = [pixel(tirx.IntImm("int32", 0), 0), distance, extent, acc[0]]
    return tensor_intrin(_INTRINSICS[reduction], arguments, body)
