"""Converters of gathers.

PyTorch raises an error for a position outside of a tensor. Here a constant position outside is
refused, and a computed one reads the nearest element (`usmp.ops.real.indices`).
"""

from __future__ import annotations

from tvm import relax
from tvm.ir import Expr, GenericConst

from usmp.frontend.pytorch.converters.operator import Operator, converts, rank_of
from usmp.ops.emit import dtype_of, extents_of, shape_of
from usmp.ops.real.gather import diagonal, pick
from usmp.ops.real.indices import counted_from_start, outside
from usmp.relax.symbolic_sizes import shown_extent


@converts("embedding.default")
def _embedding(operator: Operator) -> Expr:
    return _take(operator, operator["weight"], operator["indices"], 0)


@converts("index_select.default")
def _index_select(operator: Operator) -> Expr:
    index, data = operator["index"], operator["self"]
    if not rank_of(index):
        index = operator.emit(relax.op.reshape(index, (1,)))
    if not rank_of(data):
        return data
    return _take(operator, data, index, operator["dim"] % rank_of(data))


def _take(operator: Operator, data: Expr, indices: Expr, axis: int) -> Expr:
    """Return the slices of `data` at indices along an axis; negative indices count from the end."""
    extent = extents_of(data)[axis]
    if not isinstance(extent, int):
        raise operator.refusal(
            f"is not supported: it takes positions along an axis of {shown_extent(extent)} "
            "elements, a size that only the run knows"
        )
    return relax.op.take(data, _checked(operator, indices, extent, axis), axis, mode="fast")


def _checked(operator: Operator, indices: Expr, extent: int, axis: int) -> Expr:
    """Return indices along an axis; constant indices are checked and counted from the start."""
    check_positions(operator, indices, extent, axis)
    if not isinstance(indices, GenericConst):
        return indices
    return relax.const(counted_from_start(indices.value.numpy(), [extent]))


def check_positions(operator: Operator, indices: Expr, extent: int, axis: int) -> None:
    """Check that constant indices are inside of an axis.

    Raises
    ------
    UnsupportedModelError
        an index is outside of the axis.
    """
    if isinstance(indices, GenericConst):
        reason = outside(indices.value.numpy(), [extent], [axis])
        if reason is not None:
            raise operator.refusal(f"is not supported: {reason}")


@converts("gather.default")
def _gather(operator: Operator) -> Expr:
    data, index = operator["self"], operator["index"]
    if not rank_of(data) or not rank_of(index):
        raise operator.refusal("of a tensor without axes is not supported; use reshape() before")
    axis = operator["dim"] % rank_of(data)
    return relax.op.gather_elements(
        data, _checked(operator, index, shape_of(data)[axis], axis), axis
    )


@converts("diagonal.default")
def _diagonal(operator: Operator) -> Expr:
    data, offset = operator["self"], operator["offset"]
    rows, columns = (operator[name] % rank_of(data) for name in ("dim1", "dim2"))
    first = {rows: max(-offset, 0), columns: max(offset, 0)}
    if min(shape_of(data)[axis] - begin for axis, begin in first.items()) <= 0:
        raise operator.refusal("gives a tensor without elements")
    return diagonal(operator.builder, data, first)


@converts("index.Tensor")
def _index(operator: Operator) -> Expr:
    """Convert `data[indices]`."""
    data, indices = operator["self"], list(operator["indices"])
    indexed = [(axis, index) for axis, index in enumerate(indices) if index is not None]
    if any(dtype_of(index) in ("bool", "uint8") for _, index in indexed):
        raise operator.refusal(
            "with a mask is not supported: how many elements it picks must be known at compile "
            "time; use torch.where()"
        )
    if len(indexed) == 1:
        axis, index = indexed[0]
        return _take(operator, data, index, axis)
    extents = shape_of(data)
    counted = [(axis, _checked(operator, index, extents[axis], axis)) for axis, index in indexed]
    return pick(operator.builder, data, counted)
