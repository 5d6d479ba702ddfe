"""Operators written in tensor expressions as calls in Relax."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from tvm import relax, te


def call_operator(
    builder: relax.BlockBuilder,
    name: str,
    compute: Callable[..., te.Tensor],
    arguments: Sequence[relax.Expr | np.ndarray],
) -> relax.Expr:
    """A call of the PrimFunc that `compute` gives for tensors like `arguments`.

    Parameters
    ----------
    name: what the PrimFunc is called in the emitted C.
    arguments: tensors; arrays become constants.
    """
    tensors = [relax.const(a) if isinstance(a, np.ndarray) else a for a in arguments]
    return builder.call_te(compute, *tensors, primfunc_name_hint=name)


def shape_of(tensor: relax.Expr) -> tuple[int, ...]:
    """The extents of a tensor of static shape."""
    return tuple(int(extent) for extent in tensor.ty.shape)
