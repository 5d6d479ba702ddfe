"""Converters of operators that create filled tensors and ranges.

PyTorch computes other tensors that depend on no input during the import (see `known_values`).
"""

from __future__ import annotations

from tvm import relax
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import (
    CONVERTERS_OF_SIZES,
    Operator,
    cast,
    constant,
    converts,
)
from usmp.frontend.size_arithmetic import int64, is_number, number
from usmp.ops.emit import extents_of


@converts("full_like.default")
def _full_like(operator: Operator) -> Expr:
    value = constant(operator["fill_value"], operator.dtype)
    shape = [int64(extent) for extent in extents_of(operator["self"])]
    return relax.op.full(shape, value, operator.dtype)


def _full(operator: Operator) -> Expr:
    shape = [int64(extent) for extent in operator["size"]]
    value = constant(operator["fill_value"], operator.dtype)
    return relax.op.full(shape, value, operator.dtype)


def _arange(operator: Operator) -> Expr:
    """Convert `arange` up to a dynamic size."""
    limits = [number(operator[name]) for name in ("start", "end", "step")]
    start, end, step = limits
    are_integers = all(isinstance(limit, int | Expr) for limit in limits)
    if not are_integers or not is_number(step, 1) or not operator.arithmetic.is_at_most(start, end):
        raise operator.refusal(
            "is not supported with a size that only the run knows, unless it counts upwards by 1"
        )
    counted = relax.op.arange(*(relax.prim_value(int64(limit)) for limit in limits), "int64")
    return cast(operator.emit(counted), operator.dtype)


@converts("empty.memory_format", "empty_permuted.default")
def _empty(operator: Operator) -> Expr:
    """Convert `empty` to zeros, because its content is undefined."""
    shape = [int64(extent) for extent in operator["size"]]
    return relax.op.full(shape, constant(0, operator.dtype), operator.dtype)


CONVERTERS_OF_SIZES |= {"full.default": _full, "arange.start_step": _arange}
