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
        elements that are cut off at both ends of each image axis.
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
        number of leading axes that data and indices share.
    """

    axis: int
    batch_axes: int


class GatherNd(QuantizedOp, kind="gather_nd"):
    """Slices at computed positions on the first axes."""


@dataclass(frozen=True, kw_only=True)
class MirrorPad(QuantizedOp, kind="mirror_pad"):
    """Padding with mirrored elements of the data.

    Parameters
    ----------
    padding
        elements before and after each axis.
    repeats_border
        whether a mirror image includes the element at the border.
    """

    describes_extents = True
    padding: tuple[tuple[int, int], ...]
    repeats_border: bool


@dataclass(frozen=True, kw_only=True)
class ResizeOp(QuantizedOp):
    """A resized image.

    Parameters
    ----------
    size
        (height, width) of the output.
    align_corners
        whether the first and last elements of data and output coincide.
    half_pixel_centers
        whether an element is at the center of a pixel, instead of its corner.
    """

    describes_extents = True
    layout: Layout
    size: tuple[int, int]
    align_corners: bool
    half_pixel_centers: bool


class ResizeBilinear(ResizeOp, kind="resize_bilinear"):
    """Resized image, means of four neighbors."""


class ResizeNearest(ResizeOp, kind="resize_nearest"):
    """Resized image, nearest elements."""


class UpdateSlice(QuantizedOp, kind="update_slice"):
    """A tensor with a replaced slice."""
