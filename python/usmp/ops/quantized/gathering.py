"""Operators that read or replace elements at indices.

In TFLite a negative index is outside of the tensor; see `usmp.ops.real.indices`.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, shape_of
from usmp.ops.quantization import Quantization, stored_as
from usmp.ops.real.gather import slices_at
from usmp.ops.real.indices import nearest
from usmp.ops.records.movement import Gather, GatherNd, UpdateSlice


def gather(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    indices: relax.Expr | np.ndarray,
    axis: int,
    batch_axes: int,
    quantization: Quantization | None = None,
) -> relax.Expr:
    """Return the slices of `data` at `indices` along `axis`.

    Parameters
    ----------
    indices
        integers.
    batch_axes
        number of leading axes that data and indices share.
    quantization
        quantization of data and output, for the record.
    """
    extents = shape_of(data)
    index_shape = shape_of(indices)
    picked = len(index_shape) - batch_axes
    shape = (*extents[:axis], *index_shape[batch_axes:], *extents[axis + 1 :])

    def compute(data: te.Tensor, indices: te.Tensor) -> te.Tensor:
        def element(*i: tirx.Var) -> tirx.Expr:
            index = indices(*i[:batch_axes], *i[axis : axis + picked])
            place = nearest(index, extents[axis], from_end=False)
            return data[(*i[:axis], place, *i[axis + picked :])]

        return te.compute(shape, element, "output")

    stored = stored_as(data, quantization)
    inputs = (stored, stored_as(indices))
    record = Gather(inputs, (stored,), axis=axis, batch_axes=batch_axes)
    return call_operator(builder, "gather", compute, [data, indices], record=record)


def gather_nd(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    indices: relax.Expr | np.ndarray,
    quantization: Quantization | None = None,
) -> relax.Expr:
    """Return the slices of `data` at positions on several axes.

    Parameters
    ----------
    indices
        (..., n) integers: a position on each of the first n axes of the data.
    quantization
        quantization of data and output, for the record.
    """
    *outer, axes = shape_of(indices)
    position = partial(nearest, from_end=False)
    compute = slices_at(shape_of(data), 0, len(outer), axes, position)
    stored = stored_as(data, quantization)
    record = GatherNd((stored, stored_as(indices)), (stored,))
    return call_operator(builder, "gather_nd", compute, [data, indices], record=record)


def update_slice(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    update: relax.Expr,
    begins: relax.Expr | np.ndarray,
    quantization: Quantization | None = None,
) -> relax.Expr:
    """Return `data` with `update` written at `begins`, which is clamped so that `update` fits.

    Parameters
    ----------
    update
        a tensor with the axes of the data, each at most as long.
    begins
        (axes) integers.
    quantization
        quantization of data, update and output, for the record.
    """
    extents, sizes = shape_of(data), shape_of(update)

    def compute(data: te.Tensor, update: te.Tensor, begins: te.Tensor) -> te.Tensor:
        def element(*i: tirx.Var) -> tirx.Expr:
            inside, place = [], []
            for axis, (extent, size) in enumerate(zip(extents, sizes, strict=True)):
                if size == extent:
                    place.append(i[axis])
                    continue
                first = begins(tirx.IntImm("int32", axis))
                begin = nearest(first, extent - size + 1, from_end=False)
                inside += [i[axis] >= begin, i[axis] < begin + size]
                place.append(i[axis] - begin)
            return tirx.if_then_else(tirx.all(*inside), update[tuple(place)], data[i])

        return te.compute(extents, element, "output")

    stored = stored_as(data, quantization)
    record = UpdateSlice((stored, stored, stored_as(begins)), (stored,))
    return call_operator(builder, "update_slice", compute, [data, update, begins], record=record)
