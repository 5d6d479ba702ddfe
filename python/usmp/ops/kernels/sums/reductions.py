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
"""The number of channels of a tile."""

Reduction: TypeAlias = type[tirx.Add] | type[tirx.Max]
_INTRINSICS = {tirx.Add: "tvmgen_sums_4", tirx.Max: "tvmgen_maxima_4"}

LEAST = {tirx.Add: 0, tirx.Max: -128}
"""The initial values of accumulators."""


def reduced_element(parts: OperatorParts, value: tirx.Expr | None = None) -> TensorLoad | None:
    """Return the element of the data that is reduced; None unless int8 elements are reduced in 32
    bits without further computation.

    Parameters
    ----------
    value
        the reduced value: `parts.sum` by default.
    """
    value = parts.sum if value is None else value
    if not isinstance(value, tirx.Cast) or not isinstance(value.value, TensorLoad):
        return None
    load: TensorLoad = value.value
    types = str(load.source.dtype), str(parts.accumulator.dtype)
    return load if types == ("int8", "int32") else None


def beginnings(reduction: Reduction, acc: tirx.Var) -> list[tirx.Stmt]:
    """Return the statements that initialize accumulators."""
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
        returns the element of the k-th pixel in the n-th channel.
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
