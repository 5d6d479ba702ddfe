"""Quantised operators that compute each output element from one element of each input."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from tvm import relax, te, tirx

from usmp.relax.quantised.emit import call_operator, shape_of
from usmp.relax.quantised.fixed_point import (
    QuantizedMultiplier,
    apply_multiplier,
    quantize_multiplier,
)
from usmp.relax.quantised.parameters import OutputLimits, Quantisation


def elementwise(
    builder: relax.BlockBuilder,
    name: str,
    function: Callable[..., tirx.Expr],
    inputs: Sequence[relax.Expr | np.ndarray],
) -> relax.Expr:
    """`function` of the corresponding elements of inputs that are broadcast together."""
    shapes = [tuple(i.shape) if isinstance(i, np.ndarray) else shape_of(i) for i in inputs]
    shape = np.broadcast_shapes(*shapes)

    def compute(*tensors: te.Tensor) -> te.Tensor:
        def element(*indices: tirx.Var) -> tirx.Expr:
            return function(*(t[_broadcast(t, indices, shape)] for t in tensors))

        return te.compute(shape, element, "output")

    return call_operator(builder, name, compute, inputs)


def _broadcast(
    tensor: te.Tensor, indices: Sequence[tirx.Var], shape: Sequence[int]
) -> tuple[tirx.Expr, ...]:
    """The indices of a tensor of fewer or shorter axes than the output (NumPy's rule)."""
    missing = len(shape) - len(tensor.shape)
    zero = tirx.IntImm("int32", 0)
    return tuple(
        index if int(extent) == whole else zero
        for extent, index, whole in zip(
            tensor.shape, indices[missing:], shape[missing:], strict=True
        )
    )


def add(
    builder: relax.BlockBuilder,
    left: relax.Expr | np.ndarray,
    right: relax.Expr | np.ndarray,
    quantisations: tuple[Quantisation, Quantisation, Quantisation],
    limits: OutputLimits,
) -> relax.Expr:
    """Sum of two tensors; `quantisations` are those of left, right and output."""
    first, second, output = quantisations
    twice = 2.0 * max(first.scale, second.scale)
    left_shift = _left_shift(output)
    factors = (
        quantize_multiplier(first.scale / twice),
        quantize_multiplier(second.scale / twice),
        quantize_multiplier(twice / (float(1 << left_shift) * output.scale)),
    )
    function = _scaled_sum(first, second, output, factors, left_shift, limits, tirx.Add)
    return elementwise(builder, "add", function, [left, right])


def _left_shift(output: Quantisation) -> int:
    """Bits below the point of the terms of a sum."""
    return 15 if output.dtype == "int16" else 20


def _scaled_sum(
    first: Quantisation,
    second: Quantisation,
    output: Quantisation,
    factors: tuple[QuantizedMultiplier, QuantizedMultiplier, QuantizedMultiplier],
    left_shift: int,
    limits: OutputLimits,
    combine: Callable[[tirx.Expr, tirx.Expr], tirx.Expr],
) -> Callable[[tirx.Expr, tirx.Expr], tirx.Expr]:
    """Both terms at a common scale, combined, at the scale of the output."""

    def term(
        value: tirx.Expr, quantisation: Quantisation, factor: QuantizedMultiplier
    ) -> tirx.Expr:
        centred = value.astype("int32") - tirx.IntImm("int32", quantisation.zero_point)
        return apply_multiplier(centred * tirx.IntImm("int32", 1 << left_shift), factor)

    def function(left: tirx.Expr, right: tirx.Expr) -> tirx.Expr:
        total = combine(term(left, first, factors[0]), term(right, second, factors[1]))
        scaled = apply_multiplier(total, factors[2])
        return limits.clamp(scaled + tirx.IntImm("int32", output.zero_point))

    return function
