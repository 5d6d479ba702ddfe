"""Elements at positions that other tensors give.

PyTorch raises an error for a position outside of a tensor. Here a constant one is refused, and the
run reads the nearest element (`usmp.ops.indices`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax, te, tirx
from tvm.ir import Expr, GenericConst

from usmp.frontend.pytorch.converters.operator import Operator, converts, dtype_of, rank_of
from usmp.ops.emit import call_operator, extents_of, shape_of
from usmp.ops.gather import elements_along
from usmp.ops.indices import broadcast_element, counted_from_start, nearest, outside
from usmp.relax.symbolic_sizes import shown_extent


@converts("embedding.default")
def _embedding(operator: Operator) -> Expr:
    return _taken(operator, operator["weight"], operator["indices"], 0)


@converts("index_select.default")
def _index_select(operator: Operator) -> Expr:
    index, data = operator["index"], operator["self"]
    if not rank_of(index):
        index = operator.emit(relax.op.reshape(index, (1,)))
    if not rank_of(data):
        return data
    return _taken(operator, data, index, operator["dim"] % rank_of(data))


def _taken(operator: Operator, data: Expr, indices: Expr, axis: int) -> Expr:
    """The slices of `data` at indices along an axis; negative ones count from the end."""
    extent = extents_of(data)[axis]
    if not isinstance(extent, int):
        raise operator.refusal(
            f"is not supported: it takes positions along an axis of {shown_extent(extent)} "
            "elements, a size that only the run knows"
        )
    indices, _ = _positions(operator, indices, extent, axis)
    return relax.op.take(data, indices, axis, mode="fast")


def _positions(
    operator: Operator, indices: Expr, extent: int, axis: int
) -> tuple[Expr, Callable[[tirx.Expr, Any], tirx.Expr]]:
    """Positions along an axis, and how each becomes one inside: constant ones are."""
    check_positions(operator, indices, extent, axis)
    if not isinstance(indices, GenericConst):
        return indices, nearest
    counted = relax.const(counted_from_start(indices.value.numpy(), [extent]))
    return counted, lambda position, _: position


def check_positions(operator: Operator, indices: Expr, extent: int, axis: int) -> None:
    """Check positions along an axis if they are constant.

    Raises
    ------
    UnsupportedModelError
        one is outside of the axis.
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
    extent = shape_of(data)[axis]
    index, position = _positions(operator, index, extent, axis)
    compute = elements_along(axis, extent, position)
    return call_operator(operator.builder, "gather", compute, [data, index])


@converts("diagonal.default")
def _diagonal(operator: Operator) -> Expr:
    data, offset = operator["self"], operator["offset"]
    rows, columns = (operator[name] % rank_of(data) for name in ("dim1", "dim2"))
    first = {rows: max(-offset, 0), columns: max(offset, 0)}
    extents = shape_of(data)
    kept = [axis for axis in range(len(extents)) if axis not in first]
    length = min(extents[axis] - begin for axis, begin in first.items())
    if length <= 0:
        raise operator.refusal("gives a tensor without elements")

    def compute(data: te.Tensor) -> te.Tensor:
        def element(*i: tirx.Var) -> tirx.Expr:
            positions = dict(zip(kept, i, strict=False))
            positions |= {axis: i[-1] + begin for axis, begin in first.items()}
            return data[tuple(positions[axis] for axis in range(len(extents)))]

        return te.compute([*(extents[axis] for axis in kept), length], element, "output")

    return call_operator(operator.builder, "diagonal", compute, [data])


@converts("index.Tensor")
def _index(operator: Operator) -> Expr:
    """`data[indices]`: the axes of the indices, broadcast to one shape, stand where the first of
    the indexed axes was, or in front if there are others in between."""
    data, indices = operator["self"], list(operator["indices"])
    given = [(axis, index) for axis, index in enumerate(indices) if index is not None]
    if any(dtype_of(index) in ("bool", "uint8") for _, index in given):
        raise operator.refusal(
            "with a mask is not supported: how many elements it picks must be known at compile "
            "time; use torch.where()"
        )
    if len(given) == 1:
        axis, index = given[0]
        return _taken(operator, data, index, axis)
    axes = [axis for axis, _ in given]
    extents = shape_of(data)
    picked = picked_part(extents, given)
    counted = [_positions(operator, index, extents[axis], axis) for axis, index in given]

    def compute(data: te.Tensor, *tensors: te.Tensor) -> te.Tensor:
        def element(*i: tirx.Var) -> tirx.Expr:
            positions, own = picked.positions(i)
            for axis, index, (_, inside) in zip(axes, tensors, counted, strict=True):
                positions[axis] = inside(broadcast_element(index, own), extents[axis])
            return data[tuple(positions[axis] for axis in range(len(extents)))]

        return te.compute(picked.shape, element, "output")

    tensors = [index for index, _ in counted]
    return call_operator(operator.builder, "index", compute, [data, *tensors])


@dataclass(frozen=True)
class PickedPart:
    """What `data[indices]` picks.

    Parameters
    ----------
    shape
        of the result.
    first, last
        the axes of the result from `first` up to `last` are those of the indices.
    kept
        the axes of `data` that the other axes of the result are.
    """

    shape: tuple[int, ...]
    first: int
    last: int
    kept: list[int]

    def positions(self, i: tuple[Any, ...]) -> tuple[dict[int, Any], tuple[Any, ...]]:
        """The coordinates of an element `i` of the result in the axes of `data` that are kept, and
        its coordinates in the indices."""
        others = (*i[: self.first], *i[self.last :])
        return dict(zip(self.kept, others, strict=True)), i[self.first : self.last]


def picked_part(shape: Sequence[int], given: Sequence[tuple[int, Expr]]) -> PickedPart:
    """Which part of a tensor the indices pick.

    Parameters
    ----------
    shape
        of the tensor.
    given
        axes of the tensor and their indices.
    """
    axes = [axis for axis, _ in given]
    extents = np.broadcast_shapes(*(shape_of(index) for _, index in given))
    first = axes[0] if axes == list(range(axes[0], axes[-1] + 1)) else 0
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    others = [shape[axis] for axis in kept]
    picked = (*others[:first], *extents, *others[first:])
    return PickedPart(picked, first, first + len(extents), kept)
