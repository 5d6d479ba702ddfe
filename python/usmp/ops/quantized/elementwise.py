"""Quantized operators that compute each output element from one element of each input."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.records import QuantizedOp


def elementwise(
    builder: relax.BlockBuilder,
    record: QuantizedOp,
    function: Callable[..., tirx.Expr],
    inputs: Sequence[relax.Expr | np.ndarray],
) -> relax.Expr:
    """Apply `function` to the corresponding elements of inputs that are broadcast together.

    The PrimFunc is named after the kind of operator.
    """
    shape = np.broadcast_shapes(*(shape_of(tensor) for tensor in inputs))

    def compute(*tensors: te.Tensor) -> te.Tensor:
        def element(*indices: tirx.Var) -> tirx.Expr:
            return function(*(t[broadcast_indices(t.shape, indices, shape)] for t in tensors))

        return te.compute(shape, element, "output")

    return call_operator(builder, record.kind, compute, inputs, record=record)


def broadcast_indices(
    own: Sequence[int], indices: Sequence[tirx.Var], shape: Sequence[int]
) -> tuple[tirx.Expr, ...]:
    """Return indices into a tensor of shape `own` that is broadcast to `shape` (NumPy's rule)."""
    missing = len(shape) - len(own)
    zero = tirx.IntImm("int32", 0)
    return tuple(
        index if int(extent) == whole else zero
        for extent, index, whole in zip(own, indices[missing:], shape[missing:], strict=True)
    )
