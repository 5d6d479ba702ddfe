"""Relax operators that read elements at indices.

TVM checks no index. Here an index that is computed at runtime is clamped to its axis
(`usmp.ops.real.indices`); constant indices are checked at compile time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax, te, tirx
from tvm.ir import Call, Expr, GenericConst

from usmp.ops.emit import call_operator, constant, extents_of, shape_of
from usmp.ops.real.indices import broadcast_element, checked_from_start, nearest
from usmp.ops.views import axis_of
from usmp.support.errors import UnsupportedModelError

Legalize = Callable[[relax.BlockBuilder, Call], Expr]


@dataclass(frozen=True)
class _Indices:
    """Indices into some axes of a tensor.

    Parameters
    ----------
    expr
        a tensor of integers.
    is_checked
        whether all indices are known to be inside of their axes.
    """

    expr: Expr
    is_checked: bool

    def position(self, index: tirx.Expr, extent: Any) -> tirx.Expr:
        """Return the position on an axis for an index of the tensor."""
        return index if self.is_checked else nearest(index, extent)


def _indices(call: Call, expr: Expr, axes: Sequence[int]) -> _Indices:
    """Return the indices into some axes of the first argument of a call."""
    extents = [extents_of(call.args[0])[axis] for axis in axes]
    if not isinstance(expr, GenericConst) or not all(isinstance(e, int) for e in extents):
        return _Indices(expr, False)
    counted = checked_from_start(expr.value.numpy(), extents, axes)
    return _Indices(constant(counted.astype(np.int32)), True)


def take(builder: relax.BlockBuilder, call: Call) -> Expr:
    """Rewrite `R.take`; modes that define reads outside of the axis use TVM's legalization."""
    data, expr = call.args
    legalize = call.op.get_attr("FLegalize")
    if call.attrs.mode != "fast":
        return legalize(builder, call)
    axis = axis_of(call)
    extent = extents_of(data)[axis]
    if isinstance(expr, GenericConst) and isinstance(extent, int):
        counted = checked_from_start(expr.value.numpy(), [extent], [axis])
        return legalize(builder, Call(call.op, [data, constant(counted)], call.attrs))
    rank = len(expr.ty.shape)

    def compute(data: te.Tensor, indices: te.Tensor) -> te.Tensor:
        def element(*at: tirx.Var) -> tirx.Expr:
            index = indices(*at[axis : axis + rank])
            return data(*at[:axis], nearest(index, extent), *at[axis + rank :])

        shape = [*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :]]
        return te.compute(shape, element, "take")

    return builder.call_te(compute, data, expr, primfunc_name_hint="take")


def gather_elements(builder: relax.BlockBuilder, call: Call) -> Expr:
    """Rewrite `R.gather_elements`: an index replaces one coordinate of its own position."""
    data, expr = call.args
    axis = axis_of(call)
    indices, extent = _indices(call, expr, [axis]), extents_of(data)[axis]

    def compute(data: te.Tensor, places: te.Tensor) -> te.Tensor:
        def element(*at: tirx.Var) -> tirx.Expr:
            return data(*at[:axis], indices.position(places(*at), extent), *at[axis + 1 :])

        return te.compute(places.shape, element, "output")

    return builder.call_te(compute, data, indices.expr, primfunc_name_hint="gather_elements")


def slices_at(
    extents: Sequence[Any],
    batches: int,
    outer: int,
    depth: int,
    position: Callable[[tirx.Expr, Any], tirx.Expr],
) -> Callable[[te.Tensor, te.Tensor], te.Tensor]:
    """Return a TE function that computes slices of a tensor at positions on several axes.

    Parameters
    ----------
    extents
        shape of the tensor.
    batches
        number of leading axes that tensor and indices share.
    outer, depth
        number of axes of the indices before the last one, and the extent of the last one: the
        number of indexed axes after the batches.
    position
        maps an index and an extent to a position inside the axis.
    """

    def compute(data: te.Tensor, indices: te.Tensor) -> te.Tensor:
        def element(*at: tirx.Var) -> tirx.Expr:
            place = [
                position(indices(*at[:outer], tirx.IntImm("int32", column)), extent)
                for column, extent in enumerate(extents[batches : batches + depth])
            ]
            return data(*at[:batches], *place, *at[outer:])

        shape = [*indices.shape[:-1], *data.shape[batches + depth :]]
        return te.compute(shape, element, "output")

    return compute


def gather_nd(builder: relax.BlockBuilder, call: Call) -> Expr:
    """Rewrite `R.gather_nd`: the innermost axis of the indices is a position on several axes."""
    data, expr = call.args
    batches, extents = int(call.attrs.batch_dims), extents_of(data)
    *outer, depth = extents_of(expr)
    axes = range(batches, batches + depth)
    indices = _indices(call, expr, axes)

    compute = slices_at(extents, batches, len(outer), depth, indices.position)
    return builder.call_te(compute, data, indices.expr, primfunc_name_hint="gather_nd")


def index_tensor(builder: relax.BlockBuilder, call: Call) -> Expr:
    """Rewrite `R.index_tensor`: each leading axis has a tensor of indices, broadcast together."""
    data, extents = call.args[0], extents_of(call.args[0])
    exprs = [relax.TupleGetItem(call.args[1], i) for i in range(len(call.args[1].ty.fields))]
    if isinstance(call.args[1], relax.Tuple):
        exprs = list(call.args[1].fields)
    fields = [_indices(call, builder.normalize(expr), [axis]) for axis, expr in enumerate(exprs)]
    shape = list(call.ty.shape)
    count = len(shape) - (len(extents) - len(fields))

    def compute(data: te.Tensor, *tensors: te.Tensor) -> te.Tensor:
        def element(*at: tirx.Var) -> tirx.Expr:
            place = [
                field.position(broadcast_element(tensor, at[:count]), extents[axis])
                for axis, (field, tensor) in enumerate(zip(fields, tensors, strict=True))
            ]
            return data(*place, *at[count:])

        return te.compute(shape, element, "output")

    tensors = [field.expr for field in fields]
    return builder.call_te(compute, data, *tensors, primfunc_name_hint="index_tensor")


@dataclass(frozen=True)
class PickedPart:
    """The shape and the axes of `data[indices]`.

    Parameters
    ----------
    shape
        shape of the result.
    first, last
        the axes [first, last) of the result are the axes of the indices.
    kept
        axes of `data` that are not indexed: the other axes of the result.
    """

    shape: tuple[int, ...]
    first: int
    last: int
    kept: list[int]

    def positions(self, i: tuple[Any, ...]) -> tuple[dict[int, Any], tuple[Any, ...]]:
        """Split result position `i` into coordinates on the kept axes and a position in indices."""
        others = (*i[: self.first], *i[self.last :])
        return dict(zip(self.kept, others, strict=True)), i[self.first : self.last]


def picked_part(shape: Sequence[int], given: Sequence[tuple[int, Expr]]) -> PickedPart:
    """Return the shape and the axes of `data[indices]`.

    The axes of the indices, broadcast to one shape, replace the first indexed axis, or come first
    if other axes are between the indexed ones, as in NumPy.

    Parameters
    ----------
    shape
        shape of the tensor.
    given
        indexed axes of the tensor, in order, and their indices.
    """
    axes = [axis for axis, _ in given]
    extents = np.broadcast_shapes(*(shape_of(index) for _, index in given))
    first = axes[0] if axes == list(range(axes[0], axes[-1] + 1)) else 0
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    others = [shape[axis] for axis in kept]
    picked = (*others[:first], *extents, *others[first:])
    return PickedPart(picked, first, first + len(extents), kept)


def pick(builder: relax.BlockBuilder, data: Expr, given: Sequence[tuple[int, Expr]]) -> Expr:
    """Return `data[indices]` (see `picked_part`). Constant indices are inside and not negative."""
    extents = shape_of(data)
    picked = picked_part(extents, given)
    fields = [(axis, _Indices(index, isinstance(index, GenericConst))) for axis, index in given]

    def compute(data: te.Tensor, *tensors: te.Tensor) -> te.Tensor:
        def element(*i: tirx.Var) -> tirx.Expr:
            positions, own = picked.positions(i)
            for (axis, indices), tensor in zip(fields, tensors, strict=True):
                index = broadcast_element(tensor, own)
                positions[axis] = indices.position(index, extents[axis])
            return data[tuple(positions[axis] for axis in range(len(extents)))]

        return te.compute(picked.shape, element, "output")

    return call_operator(builder, "index", compute, [data, *(index for _, index in given)])


def diagonal(builder: relax.BlockBuilder, data: Expr, first: Mapping[int, int]) -> Expr:
    """Return the elements on a diagonal of two axes, as a last axis.

    Parameters
    ----------
    first
        the two axes, and the position of the first element on each.
    """
    extents = shape_of(data)
    kept = [axis for axis in range(len(extents)) if axis not in first]
    length = min(extents[axis] - begin for axis, begin in first.items())

    def compute(data: te.Tensor) -> te.Tensor:
        def element(*i: tirx.Var) -> tirx.Expr:
            positions = dict(zip(kept, i, strict=False))
            positions |= {axis: i[-1] + begin for axis, begin in first.items()}
            return data[tuple(positions[axis] for axis in range(len(extents)))]

        return te.compute([*(extents[axis] for axis in kept), length], element, "output")

    return call_operator(builder, "diagonal", compute, [data])


def _legalize_regions(builder: relax.BlockBuilder, call: Call) -> Expr:
    """Clamp the first column of regions, which is an image index; use TVM's legalization."""
    data, regions = call.args
    last = extents_of(data)[0] - 1

    def compute(regions: te.Tensor) -> te.Tensor:
        def element(row: tirx.Var, column: tirx.Var) -> tirx.Expr:
            value = regions(row, column)
            zero, greatest = (tirx.const(v, regions.dtype) for v in (0, last))
            # NaN becomes 0, because each comparison is false.
            image = tirx.Select(value > zero, tirx.Select(value < greatest, value, greatest), zero)
            return tirx.Select(column == 0, image, value)

        return te.compute(regions.shape, element, "regions")

    inside = builder.emit(builder.call_te(compute, regions, primfunc_name_hint="regions"))
    legalize = call.op.get_attr("FLegalize")
    return legalize(builder, Call(call.op, [data, inside], call.attrs, ret_ty=call.ty))


def _unless_empty(legalize: Legalize) -> Legalize:
    """Use TVM's legalization for empty results, and name the operator in errors otherwise."""

    def legalized(builder: relax.BlockBuilder, call: Call) -> Expr:
        if 0 in extents_of(call):
            return call.op.get_attr("FLegalize")(builder, call)
        try:
            return legalize(builder, call)
        except UnsupportedModelError as error:
            raise UnsupportedModelError(f"{call.op.name.rpartition('.')[2]}: {error}") from error

    return legalized


GATHER_OPERATORS = {
    "relax.gather_elements": _unless_empty(gather_elements),
    "relax.gather_nd": _unless_empty(gather_nd),
    "relax.index_tensor": _unless_empty(index_tensor),
    "relax.take": _unless_empty(take),
    "relax.vision.roi_align": _unless_empty(_legalize_regions),
    "relax.vision.roi_pool": _unless_empty(_legalize_regions),
}
"""Relax operator -> its legalization."""
