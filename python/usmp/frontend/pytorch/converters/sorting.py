"""Converters of sorting and selection; NaN is larger than every number.

Every sort is stable, which PyTorch guarantees for `sort.stable` only.
"""

from __future__ import annotations

from tvm import relax
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Operator, cast, converts
from usmp.ops.emit import dtype_of, shape_of
from usmp.ops.real.order import PlaceOfNan
from usmp.ops.real.top_k import top_elements
from usmp.tir.dtypes import is_float


@converts("topk.default")
def _topk(operator: Operator) -> list[Expr]:
    """Convert `topk`; the elements are sorted even if `sorted` is false."""
    count = int(operator["k"])
    if not count:
        raise operator.refusal("gives a tensor without elements")
    return _sorted(operator, count, operator["largest"])


@converts("sort.default", "sort.stable")
def _sort(operator: Operator) -> list[Expr]:
    return _sorted(operator, _extent(operator), operator["descending"])


@converts("kthvalue.default")
def _kth_value(operator: Operator) -> list[Expr]:
    count = int(operator["k"])
    return [_slice(operator, tensor, count - 1) for tensor in _sorted(operator, count, False)]


@converts("median.dim")
def _median(operator: Operator) -> list[Expr]:
    """Convert `median`: the first NaN, or without NaN the lower one of two middle elements."""
    middle = (_extent(operator) - 1) // 2
    tensors = _sorted(operator, middle + 1, False, "first")
    elements, positions = ([_slice(operator, t, at) for at in (0, middle)] for t in tensors)
    if not is_float(dtype_of(elements[0])):
        return [elements[1], positions[1]]
    is_nan = operator.emit(relax.op.isnan(elements[0]))
    return [relax.op.where(is_nan, *pair) for pair in (elements, positions)]


@converts("median.default")
def _median_of_all(operator: Operator) -> Expr:
    return _median(operator)[0]


def _sorted(
    operator: Operator, count: int, largest: bool, nan: PlaceOfNan | None = None
) -> list[Expr]:
    """Return the first `count` sorted elements along the axis, and their positions."""
    data, dtype = _flattened(operator), operator.dtype
    axis = _axis(operator)
    ordered = operator.emit(cast(data, "int8")) if dtype == "bool" else data
    nan = nan or ("first" if largest else "last")
    elements, positions = top_elements(operator.builder, ordered, axis, count, largest, nan)
    if not shape_of(operator["self"]) and operator.get("dim", None) is not None:
        elements, positions = (
            operator.emit(relax.op.reshape(e, ())) for e in (elements, positions)
        )
    return [operator.emit(cast(elements, dtype)), positions]


def _flattened(operator: Operator) -> Expr:
    """Return the tensor, flattened if the operator has no axis or the tensor is a scalar."""
    data = operator["self"]
    if shape_of(data) and operator.get("dim", None) is not None:
        return data
    return operator.emit(relax.op.reshape(data, (-1,)))


def _axis(operator: Operator) -> int:
    return int(operator.get("dim", -1)) % len(shape_of(_flattened(operator)))


def _extent(operator: Operator) -> int:
    return shape_of(_flattened(operator))[_axis(operator)]


def _slice(operator: Operator, tensor: Expr, index: int) -> Expr:
    """Return the slice at an index along the axis, with the axis if the operator keeps it."""
    if not shape_of(tensor):
        return tensor
    axis = _axis(operator)
    cut = relax.op.strided_slice(tensor, [axis], [index], [index + 1])
    if operator.get("keepdim", False):
        return operator.emit(cut)
    return operator.emit(relax.op.squeeze(operator.emit(cut), [axis]))
