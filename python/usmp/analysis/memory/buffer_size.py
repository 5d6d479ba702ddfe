"""Sizes of buffers in bytes."""

from __future__ import annotations

from math import prod

from tvm import tirx

from usmp.tir.dtypes import item_bytes


def has_static_size(buffer: tirx.Buffer) -> bool:
    """Return whether the size of the buffer is static, as `size_bytes` requires."""
    layout = [*buffer.shape[:], *buffer.strides[:], buffer.elem_offset]
    static = all(part is None or isinstance(part, tirx.IntImm) for part in layout)
    return static and "vscale" not in str(buffer.dtype)


def size_bytes(buffer: tirx.Buffer) -> int:
    """Return the bytes of a buffer of static shape, with the gaps of its strides and its offset."""
    extents, strides = [int(extent) for extent in buffer.shape[:]], buffer.strides[:]
    elements = prod(extents)
    if strides and elements:
        steps = zip(extents, strides, strict=True)
        elements = 1 + sum((extent - 1) * int(stride) for extent, stride in steps)
    if elements and buffer.elem_offset is not None:
        elements += int(buffer.elem_offset)
    return elements * item_bytes(str(buffer.dtype))
