"""Indices that are data: the one rule for all operators that read or write by index.

No index leads outside of its tensor. In ONNX, PyTorch and Relax, a negative index counts from the
end of its axis; in TFLite it is outside. Outside of the axis, a read takes the nearest element, and
a write is skipped. Indices are clamped before they are narrowed, because 2**32 would become 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tvm import te, tirx

from usmp.support.errors import UnsupportedModelError
from usmp.tir.nodes import is_const_int


def nearest(index: tirx.Expr, extent: int | tirx.Expr, *, from_end: bool = True) -> tirx.Expr:
    """Return the position inside an axis that is nearest to an index.

    Parameters
    ----------
    index
        an index of any integer type.
    extent
        extent of the axis, at least 1; an expression if it is known only at runtime.
    from_end
        whether a negative index counts from the end.

    Returns
    -------
    tirx.Expr
        int32, or int64 where `extent` is an expression.

    Raises
    ------
    UnsupportedModelError
        the axis has no elements.
    """
    if isinstance(extent, int) and extent < 1:
        raise UnsupportedModelError("an index leads into an axis that has no elements")
    dtype = str(index.ty.dtype)
    place_type = "int32" if isinstance(extent, int) else "int64"
    # The wide type holds any index of the type, and the extent.
    wide_type = dtype if dtype in ("int64", "uint64") else place_type
    if dtype == "uint32":
        wide_type = "int64"
    size = tirx.IntImm(place_type, extent) if isinstance(extent, int) else extent.astype(place_type)
    zero, index = tirx.const(0, place_type), index.astype(wide_type)
    kept = tirx.min(index, (size - 1).astype(wide_type))
    if not dtype.startswith("int"):
        return kept.astype(place_type)
    if not from_end:
        return tirx.max(kept, zero.astype(wide_type)).astype(place_type)
    # Between -extent and extent - 1, nothing that follows can overflow.
    counted = tirx.max(kept, (zero - size).astype(wide_type)).astype(place_type)
    return counted + tirx.Select(counted < zero, size, zero)


def outside(
    indices: np.ndarray, extents: Sequence[int], axes: Sequence[int], *, from_end: bool = True
) -> str | None:
    """Return an error text about the first constant index outside of its axis; None without one.

    Parameters
    ----------
    indices
        integers; with several axes, the last axis of the array is one index for each of them.
    extents, axes
        extent and number of each indexed axis of the tensor.
    from_end
        whether negative indices count from the end.
    """
    sizes = np.array(extents, np.int64)
    positions = indices.reshape(-1, len(axes))
    wrong = (positions >= sizes) | (positions < (-sizes if from_end else 0))
    if not wrong.any():
        return None
    row, column = np.argwhere(wrong)[0]
    extent = extents[column]
    least = -extent if from_end else 0
    inside = f"; indices from {least} to {extent - 1} are inside" if extent else ""
    return (
        f"index {positions[row, column]} is outside of axis {axes[column]}, which has {extent} "
        f"elements{inside}"
    )


def counted_from_start(indices: np.ndarray, extents: Sequence[int]) -> np.ndarray:
    """Return constant indices, inside of their axes, with negative ones counted from the start.

    Parameters
    ----------
    indices
        integers; with several extents, the last axis of the array is one index for each of them.
    extents
        extents of the axes.
    """
    sizes = np.array(extents if len(extents) > 1 else extents[0], np.int64)
    counted = np.where(indices < 0, indices + sizes, indices)
    fits = np.iinfo(indices.dtype).max >= max(extents) - 1
    return counted.astype(indices.dtype if fits else np.int64)


def checked_from_start(
    indices: np.ndarray, extents: Sequence[int], axes: Sequence[int]
) -> np.ndarray:
    """Check constant indices, and return them counted from the start.

    Raises
    ------
    UnsupportedModelError
        one is outside of its axis.
    """
    reason = outside(indices, extents, axes)
    if reason is not None:
        raise UnsupportedModelError(reason)
    return counted_from_start(indices, extents)


def broadcast_element(tensor: tirx.Buffer | te.Tensor, place: Sequence[tirx.Expr]) -> tirx.Expr:
    """Return the element of a tensor at `place` in the shape that it is broadcast to."""
    own = place[len(place) - len(tensor.shape) :]
    first = tirx.IntImm("int32", 0)
    index = [
        first if is_const_int(extent, 1) else position
        for position, extent in zip(own, tensor.shape, strict=True)
    ]
    return tensor(*index) if isinstance(tensor, te.Tensor) else tensor[tuple(index)]
