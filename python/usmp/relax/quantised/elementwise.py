"""Quantised operators that compute each output element from one element of each input."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from tvm import relax, te, tirx

from usmp.relax.quantised.emit import call_operator, shape_of
from usmp.relax.quantised.parameters import Quantisation


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


def centred(value: tirx.Expr, quantisation: Quantisation) -> tirx.Expr:
    """The difference to the zero point: int32."""
    return value.astype("int32") - tirx.IntImm("int32", quantisation.zero_point)
