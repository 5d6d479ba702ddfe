"""Operators written in tensor expressions as calls in Relax."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from tvm import relax, te

from usmp.objects.attributes import OPERATOR_ATTR

_BROADCAST, _OUT_ELEMENT_WISE_FUSABLE = 1, 4
"""TVM's OpPatternKind of operators on elements, and of convolutions and matrix products.
AnnotateTIROpPattern replaces 0, which is more to the point, but no other number that it finds."""
ELEMENT_WISE_MARK = "usmp.is_element_wise"
"""On a PrimFunc: it is element-wise, though TVM cannot see that; `fuse_tables` reads it."""


def call_operator(
    builder: relax.BlockBuilder,
    name: str,
    compute: Callable[..., te.Tensor],
    arguments: Sequence[relax.Expr | np.ndarray],
    takes_epilogue: bool = False,
    is_element_wise: bool = False,
    description: Mapping[str, Any] | None = None,
) -> relax.Expr:
    """A call of the PrimFunc that `compute` gives for tensors like `arguments`.

    Parameters
    ----------
    name
        what the PrimFunc is called in the emitted C.
    arguments
        tensors; arrays become constants.
    takes_epilogue
        whether element-wise operators that read the result are fused into it.
    is_element_wise
        whether it is such an operator, which TVM sees by itself unless the place of
        what it reads depends on the data.
    description
        what it was made from, for accelerators that compute it in its place.
    """
    attributes: dict[str, Any] = {"op_pattern": _OUT_ELEMENT_WISE_FUSABLE} if takes_epilogue else {}
    if is_element_wise:
        attributes = {"op_pattern": _BROADCAST, ELEMENT_WISE_MARK: True}
    if description is not None:
        attributes[OPERATOR_ATTR] = dict(description)
    tensors = [constant(a) if isinstance(a, np.ndarray) else a for a in arguments]
    return builder.call_te(
        compute, *tensors, primfunc_name_hint=name, primfunc_attrs=attributes or None
    )


def constant(values: np.ndarray) -> relax.Expr:
    """An array as a constant of its type; TVM would make int32 of int64."""
    return relax.const(values, str(values.dtype))


def shape_of(tensor: relax.Expr | np.ndarray) -> tuple[int, ...]:
    """The extents of an array, or of a tensor of static shape."""
    shape = tensor.shape if isinstance(tensor, np.ndarray) else tensor.ty.shape
    return tuple(int(extent) for extent in shape)
