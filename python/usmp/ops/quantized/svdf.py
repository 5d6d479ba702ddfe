"""SVDF: a layer of filters over features and then over time, of int8.

Each filter is a product of two filters. The first weighs the features of an input. The second
weighs the results of the first one for recent inputs; these results are the state ("Compressing
Deep Neural Networks using a Rank-Constrained Topology", P. Nakkiran et al., 2015).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.dot_products import Run
from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantized.gate_sums import add_products, begin_sums
from usmp.ops.quantized.rescaling.accumulators import accumulator_range
from usmp.ops.quantized.rescaling.fixed_point import (
    apply_multiplier,
    centered,
    quantize_multiplier,
    wrapping_add,
)
from usmp.ops.quantized.rescaling.parameters import Quantization
from usmp.ops.quantized.rescaling.weighted_constants import narrowed
from usmp.ops.records.recurrent import Svdf, SvdfState
from usmp.ops.statements import call_in_place, loop
from usmp.support.errors import UnsupportedModelError

_FILTERS = 4
"""Filters whose features are summed at once."""


@dataclass(frozen=True)
class SvdfWeights:
    """The constants of an SVDF; each unit has a group of `rank` consecutive filters.

    Parameters
    ----------
    features
        (filters, features) of int8, symmetric.
    features_scale
        scale of `features`.
    time
        (filters, memory) of the state's type, symmetric; the weight of the newest input is last.
    time_scale
        scale of `time`.
    bias
        (units) of int32.
    """

    features: np.ndarray
    features_scale: float
    time: np.ndarray
    time_scale: float
    bias: np.ndarray

    def check(self) -> None:
        """Check that the shapes are consistent.

        Raises
        ------
        UnsupportedModelError
            the shapes are not consistent.
        """
        filters, units = len(self.features), len(self.bias)
        if len(self.time) != filters or units == 0 or filters % units or 0 in self.time.shape:
            raise UnsupportedModelError(
                f"weights of shapes {list(self.features.shape)} and {list(self.time.shape)} do not "
                f"go with {units} units"
            )


def svdf(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    state: relax.Expr,
    weights: SvdfWeights,
    quantizations: tuple[Quantization, Quantization, Quantization],
) -> tuple[relax.Expr, relax.Expr]:
    """Return the output, (batch, units) of int8, and the next state.

    Parameters
    ----------
    data
        (batch, features) of int8.
    state
        (batch, filters * memory) of int8 or int16, filter by filter.
    quantizations
        quantizations of data, state and output.

    Raises
    ------
    UnsupportedModelError
        inconsistent shapes, or scales or sums that leave 32 bits.
    """
    weights.check()
    before, stored, after = quantizations
    new_state = _remember(builder, data, state, weights, before, stored)
    return _weigh(builder, new_state, weights, stored, after), new_state


def _remember(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    state: relax.Expr,
    weights: SvdfWeights,
    before: Quantization,
    stored: Quantization,
) -> relax.Expr:
    """Replace the oldest results in the state by the results for `data`, in place."""
    batch = shape_of(data)[0]
    filters, memory = weights.time.shape
    accumulator_range(weights.features, None, before, "int32")
    # Compute the ratio in single precision, like the reference kernel.
    ratio = np.float32(before.scale) * np.float32(weights.features_scale) / np.float32(stored.scale)
    factor = quantize_multiplier(float(ratio))

    limits = replace(stored.limits(), dtype="int32")

    def body(state: tirx.Buffer, data: tirx.Buffer, weight: tirx.Buffer) -> tirx.Stmt:
        def some_filters(row: tirx.Expr, f: tirx.Expr, number: int) -> list[tirx.Stmt]:
            totals = tirx.decl_buffer((number,), "int32", "totals", scope="local")
            start = f * memory

            # One loop moves all filters: it also moves a filter's oldest result to the previous
            # filter's newest one, which is stored afterwards.
            def move(m: tirx.Var) -> tirx.Stmt:
                return tirx.BufferStore(state, state[row, start + m + 1], [row, start + m])

            # Add the zero point after clamping, like the reference kernel.
            def store(n: int) -> tirx.Stmt:
                value = limits.clamp(apply_multiplier(totals[n], factor))
                newest = (value + tirx.IntImm("int32", stored.zero_point)).astype(stored.dtype)
                return tirx.BufferStore(state, newest, [row, start + ((n + 1) * memory - 1)])

            zero, moved = tirx.IntImm("int32", 0), number * memory - 1
            return [
                *([loop("m", moved, move)] if memory > 1 else []),
                *begin_sums([totals], lambda *_: zero),
                *add_products([totals], Run(data, (row, zero), 0), before.zero_point, [weight], f),
                *(store(n) for n in range(number)),
            ]

        def all_filters(row: tirx.Expr) -> Iterator[tirx.Stmt]:
            whole, rest = divmod(filters, _FILTERS)
            if whole:
                yield loop("tile", whole, lambda i: some_filters(row, i * _FILTERS, _FILTERS))
            if rest:
                yield loop("f", rest, lambda f: some_filters(row, f + whole * _FILTERS, 1))

        return loop("b", batch, all_filters)

    arguments = [("state", state), ("data", data), ("weight", weights.features)]
    features_quantization = Quantization("int8", (weights.features_scale,), (0,))
    record = SvdfState((before, stored, features_quantization), (stored,))
    (new_state,) = call_in_place(
        builder, "svdf_state", body, arguments, overwritten=[0], record=record
    )
    return new_state


def _weigh(
    builder: relax.BlockBuilder,
    state: relax.Expr,
    weights: SvdfWeights,
    stored: Quantization,
    after: Quantization,
) -> relax.Expr:
    """Sum the results of each unit's filters over time, and rescale to the output."""
    shape = (shape_of(state)[0], len(weights.bias))
    # The filters of a unit and their memory are consecutive, so that one loop sums them.
    time = weights.time.reshape(len(weights.bias), -1)
    ratio = np.float32(stored.scale) * np.float32(weights.time_scale) / np.float32(after.scale)
    factor = quantize_multiplier(float(ratio))

    def compute(state: te.Tensor, time: te.Tensor, bias: te.Tensor) -> te.Tensor:
        taps = int(time.shape[1])
        k = te.reduce_axis((0, taps), "k")

        def product(b: tirx.Var, u: tirx.Var) -> tirx.Expr:
            value = centered(state[b, u * taps + k], stored.zero_point) * centered(time[u, k], 0)
            # The sum wraps around in the reference kernel.
            return value.astype("uint32")

        totals = te.compute(shape, lambda b, u: te.sum(product(b, u), k), "total")

        def output(b: tirx.Var, u: tirx.Var) -> tirx.Expr:
            total = wrapping_add(totals[b, u], bias[u])
            scaled = apply_multiplier(total, factor)
            moved = wrapping_add(scaled, after.zero_point)
            return after.limits().clamp(moved)

        return te.compute(shape, output, "output")

    arguments = [state, time, narrowed(weights.bias)]
    time_quantization = Quantization(stored.dtype, (weights.time_scale,), (0,))
    rank = len(weights.time) // len(weights.bias)
    record = Svdf((stored, time_quantization), (after,), rank=rank)
    return builder.emit(call_operator(builder, "svdf", compute, arguments, True, record=record))
