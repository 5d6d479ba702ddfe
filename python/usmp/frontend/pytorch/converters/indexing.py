"""Elements at positions that other tensors give.

PyTorch raises an error for a position outside of a tensor. Here it counts as the nearest inside, so
that no run reads or writes elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax, te, tirx
from tvm.ir import Expr, GenericConst

from usmp.frontend.pytorch.converters.operator import Operator, converts, dtype_of, rank_of
from usmp.ops.emit import call_operator, extents_of, shape_of
from usmp.relax.symbolic_sizes import shown_extent
from usmp.relax.transform.normalize_take_indices import count_from_start


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
    if isinstance(indices, GenericConst):
        counted = count_from_start(indices.value.numpy(), [extent], 0)
        return relax.op.take(data, relax.const(counted), axis, mode="fast")
    zero, last = (relax.const(v, dtype_of(indices)) for v in (0, extent))
    counted = relax.op.where(relax.op.less(indices, zero), relax.op.add(indices, last), indices)
    return relax.op.take(data, operator.emit(counted), axis, mode="clip")


@converts("gather.default")
def _gather(operator: Operator) -> Expr:
    data, index = operator["self"], operator["index"]
    if not rank_of(data) or not rank_of(index):
        raise operator.refusal("of a tensor without axes is not supported; use reshape() before")
    axis = operator["dim"] % rank_of(data)
    extent = shape_of(data)[axis]

    def compute(data: te.Tensor, index: te.Tensor) -> te.Tensor:
        def element(*i: tirx.Var) -> tirx.Expr:
            return data[(*i[:axis], _inside(index[i], extent), *i[axis + 1 :])]

        return te.compute(index.shape, element, "output")

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

    def compute(data: te.Tensor, *tensors: te.Tensor) -> te.Tensor:
        def element(*i: tirx.Var) -> tirx.Expr:
            positions, own = picked.positions(i)
            for axis, index in zip(axes, tensors, strict=True):
                positions[axis] = _inside(_broadcast(index, own), extents[axis])
            return data[tuple(positions[axis] for axis in range(len(extents)))]

        return te.compute(picked.shape, element, "output")

    tensors = [index for _, index in given]
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


def _broadcast(tensor: te.Tensor, indices: tuple[tirx.Var, ...]) -> tirx.Expr:
    """The element of a tensor that is broadcast to more axes, or longer ones."""
    own = indices[len(indices) - len(tensor.shape) :]
    zero = tirx.IntImm("int32", 0)
    return tensor[tuple(zero if int(e) == 1 else i for e, i in zip(tensor.shape, own, strict=True))]


def _inside(index: tirx.Expr, extent: int) -> tirx.Expr:
    """An index, from the end if it is negative, as the nearest of an axis."""
    signed = index.astype("int64")
    size, zero = tirx.IntImm("int64", extent), tirx.IntImm("int64", 0)
    counted = signed + tirx.Select(signed < zero, size, zero)
    nearest = tirx.max(tirx.min(counted, size - 1), zero)
    return nearest.astype("int32")
