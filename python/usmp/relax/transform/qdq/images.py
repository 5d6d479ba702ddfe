"""1-D images as 2-D images of one row."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax
from tvm.ir import Call

from usmp.ops.emit import shape_of
from usmp.ops.quantized import Layout, Window

CHANNELS_FIRST, CHANNELS_LAST = Layout("NCHW"), Layout("NHWC")
_LAYOUTS = {"NCHW": "NCHW", "NHWC": "NHWC", "NCW": "NCHW", "NWC": "NHWC"}

PoolingWindow = tuple[Window, Layout, tuple[int, ...]]
"""The kernel window of a pool, and the layout and shape of its data as a 2-D image."""


def image_layout(data: object, out: object) -> Layout | None:
    """Return the layout of data as a 2-D image, or None if it is not in `_LAYOUTS` or differs from
    the output's layout."""
    same = str(out or data) == str(data)
    return Layout(_LAYOUTS[str(data)]) if same and str(data) in _LAYOUTS else None


def image_shape(shape: Sequence[int], layout: Layout) -> tuple[int, ...]:
    """Return the shape of data as a 2-D image; a 1-D image gets the height 1."""
    if len(shape) == 4:
        return tuple(shape)
    position = layout.axes.index("H")
    return (*shape[:position], 1, *shape[position:])


def pair(values: Sequence[object]) -> tuple[int, int]:
    """Return strides or dilations as (rows, columns)."""
    first, *rest = (int(value) for value in values)  # type: ignore[call-overload]
    return (first, rest[0]) if rest else (1, first)


def padding_before(padding: Sequence[object]) -> tuple[int, int]:
    """Return (top, left) of (top, left, bottom, right) or of (left, right)."""
    values = [int(value) for value in padding]  # type: ignore[call-overload]
    return (values[0], values[1]) if len(values) == 4 else (0, values[0])


def reshaped(builder: relax.BlockBuilder, value: relax.Expr, shape: Sequence[int]) -> relax.Expr:
    """Emit a value, reshaped if its shape differs."""
    value = builder.emit(value)
    same = shape_of(value) == tuple(shape)
    return value if same else builder.emit(relax.op.reshape(value, tuple(shape)))


def pool_window(call: Call) -> PoolingWindow | None:
    """Return the `PoolingWindow` of a pool, or None if its layout is not supported, or if the
    kernel window is dilated or covers only padding at some position."""
    attrs = call.attrs
    layout = image_layout(attrs.layout, attrs.out_layout)
    if layout is None or any(int(d) != 1 for d in attrs.dilation):
        return None
    shape = image_shape(shape_of(call.args[0]), layout)
    _, rows, columns, _ = layout.named(shape)
    _, out_rows, out_columns, _ = layout.named(image_shape(shape_of(call), layout))
    kernel, strides = pair(attrs.pool_size), pair(attrs.strides)
    padding = padding_before(attrs.padding)
    window = Window((rows, columns), kernel, strides, (1, 1), padding, (out_rows, out_columns))
    return (window, layout, shape) if _every_place_has_data(window) else None


def _every_place_has_data(window: Window) -> bool:
    """Return whether every kernel window covers data, because a mean of nothing is not defined."""
    return all(
        0 <= window.padding[side] < window.kernel[side]
        and (window.output[side] - 1) * window.strides[side] - window.padding[side]
        < window.data[side]
        for side in (0, 1)
    )


def to_channels_last(rank: int) -> list[int]:
    """Return the axes of (batch, channels, ...) in the order (batch, ..., channels)."""
    return [0, *range(2, rank), 1]


def to_channels_first(rank: int) -> list[int]:
    """Return the axes of (batch, ..., channels) in the order (batch, channels, ...)."""
    return [0, rank - 1, *range(1, rank - 1)]


def is_same_order(shape: Sequence[int], order: Sequence[int]) -> bool:
    """Return whether permuting the axes of a tensor keeps the order of elements in memory."""
    extended = [axis for axis in order if shape[axis] != 1]
    return extended == sorted(extended)
