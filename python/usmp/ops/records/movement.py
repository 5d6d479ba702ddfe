"""Records of operators that move elements to other places."""

from __future__ import annotations

from dataclasses import dataclass

from usmp.ops.records.base import QuantizedOp
from usmp.ops.window import Layout


@dataclass(frozen=True, kw_only=True)
class BatchToSpace(QuantizedOp, kind="batch_to_space"):
    """Batches to blocks of an image.

    Parameters
    ----------
    block
        extents of a block on the image axes.
    crops
        elements that are left out at both ends of each image axis.
    """

    describes_extents = True
    block: tuple[int, ...]
    crops: tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True)
class SpaceToBatch(QuantizedOp, kind="space_to_batch"):
    """Blocks of an image to batches.

    Parameters
    ----------
    block
        extents of a block on the image axes.
    padding
        elements of `value` before and after each image axis.
    """

    describes_extents = True
    block: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    value: int | float


@dataclass(frozen=True, kw_only=True)
class Gather(QuantizedOp, kind="gather"):
    """Slices at computed indices along an axis.

    Parameters
    ----------
    batch_axes
        how many first axes of data and indices are the same.
    """

    axis: int
    batch_axes: int


class GatherNd(QuantizedOp, kind="gather_nd"):
    """Slices at computed positions on the first axes."""


@dataclass(frozen=True, kw_only=True)
class MirrorPad(QuantizedOp, kind="mirror_pad"):
    """Padding with the data's own elements.

    Parameters
    ----------
    padding
        elements before and after each axis.
    repeats_border
        whether the mirror image begins with the element at the border.
    """

    describes_extents = True
    padding: tuple[tuple[int, int], ...]
    repeats_border: bool


@dataclass(frozen=True, kw_only=True)
class ResizeOp(QuantizedOp):
    """An image in another size.

    Parameters
    ----------
    size
        (height, width) of the output.
    align_corners
        the first and last elements fall together.
    half_pixel_centers
        an element is a square whose value is that of its center.
    """

    describes_extents = True
    layout: Layout
    size: tuple[int, int]
    align_corners: bool
    half_pixel_centers: bool


class ResizeBilinear(ResizeOp, kind="resize_bilinear"):
    """Image in another size, means of four neighbors."""


class ResizeNearest(ResizeOp, kind="resize_nearest"):
    """Image in another size, nearest elements."""


class UpdateSlice(QuantizedOp, kind="update_slice"):
    """A tensor, of which a slice is replaced."""
