"""Updates of caches along an axis."""

from __future__ import annotations

from tvm import relax, te, tirx
from tvm.ir import Expr

from usmp.ops.emit import call_operator, shape_of


def update_cache(
    builder: relax.BlockBuilder,
    cache: Expr,
    update: Expr,
    begins: Expr,
    axis: int,
    *,
    is_circular: bool,
) -> Expr:
    """Return a cache with new elements along an axis.

    Parameters
    ----------
    cache
        [batch, ...].
    update
        new elements, of the shape of the cache except for a smaller or equal extent of the axis.
    begins
        [batch], int64: position of the first new element of each batch.
    axis
        axis of the cache, counted from the start; not 0.
    is_circular
        whether elements beyond the end wrap around to the start; else they are left out.
    """
    extent, count = shape_of(cache)[axis], shape_of(update)[axis]

    def compute(cache: te.Tensor, update: te.Tensor, begins: te.Tensor) -> te.Tensor:
        def element(*at: tirx.Var) -> tirx.Expr:
            begin, place = begins(at[0]), at[axis].astype("int64")
            step = place - begin
            if is_circular:
                step = tirx.floormod(place + extent - tirx.floormod(begin, extent), extent)
            is_new = tirx.all(step >= 0, step < count)
            new = [*at]
            new[axis] = tirx.max(tirx.min(step, count - 1), 0).astype("int32")
            return tirx.if_then_else(is_new, update(*new), cache(*at))

        return te.compute(cache.shape, element, "tensor_scatter")

    return call_operator(builder, "tensor_scatter", compute, [cache, update, begins])
