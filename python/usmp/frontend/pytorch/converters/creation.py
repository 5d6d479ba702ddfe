"""Tensors of one number.

Every other tensor that depends on no input is computed by PyTorch itself when the model is
imported (see `known_values`).
"""

from __future__ import annotations

from tvm import relax
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Operator, constant, converts
from usmp.frontend.size_arithmetic import int64
from usmp.ops.emit import extents_of


@converts("full_like.default")
def _full_like(operator: Operator) -> Expr:
    value = constant(operator["fill_value"], operator.dtype)
    shape = [int64(extent) for extent in extents_of(operator["self"])]
    return relax.op.full(shape, value, operator.dtype)


@converts("empty.memory_format", "empty_permuted.default")
def _empty(operator: Operator) -> Expr:
    """Zeros: what stands in such a tensor is not defined."""
    shape = [int64(extent) for extent in operator["size"]]
    return relax.op.full(shape, constant(0, operator.dtype), operator.dtype)
