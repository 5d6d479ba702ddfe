"""Elements that are picked by a tensor of indices."""

from __future__ import annotations

import numpy as np
from tvm import relax, te, tirx

from usmp.relax.quantised.emit import call_operator, shape_of


def gather(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    indices: relax.Expr | np.ndarray,
    axis: int,
    batch_axes: int,
) -> relax.Expr:
    """The slices of `data` at `indices` along `axis`.

    Parameters
    ----------
    indices: integers; one outside the axis counts as the nearest inside, so that no run reads
        outside the tensor.
    batch_axes: how many first axes of data and indices are the same.
    """
    extents = shape_of(data)
    index_shape = tuple(indices.shape) if isinstance(indices, np.ndarray) else shape_of(indices)
    picked = len(index_shape) - batch_axes
    shape = (*extents[:axis], *index_shape[batch_axes:], *extents[axis + 1 :])

    def compute(data: te.Tensor, indices: te.Tensor) -> te.Tensor:
        def element(*i: tirx.Var) -> tirx.Expr:
            given = indices[(*i[:batch_axes], *i[axis : axis + picked])].astype("int32")
            return data[(*i[:axis], nearest_inside(given, extents[axis]), *i[axis + picked :])]

        return te.compute(shape, element, "output")

    return call_operator(builder, "gather", compute, [data, indices])


def nearest_inside(index: tirx.Expr, extent: int) -> tirx.Expr:
    """An int32 index, moved into an axis."""
    low, high = tirx.IntImm("int32", 0), tirx.IntImm("int32", extent - 1)
    return tirx.max(tirx.min(index, high), low)
