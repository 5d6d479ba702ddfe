"""The window of an operator, from its record."""

from __future__ import annotations

from typing import cast

from usmp.ops.emit import shape_of
from usmp.ops.quantized import Layout, Window
from usmp.ops.window import layouts_named
from usmp.relax.transform.channels.channel_operator import RecordedCall


def window_of(recorded: RecordedCall, kernel: tuple[int, int]) -> tuple[Layout, Layout, Window]:
    """The layouts of the data and of the output, and how a kernel moves over the data."""
    parameters = recorded.record.parameters
    layout, out_layout = layouts_named(str(parameters["layout"]))
    _, height, width, _ = layout.named(shape_of(recorded.arguments[0]))
    _, rows, columns, _ = out_layout.named(shape_of(recorded.call))
    strides, dilations, padding = (
        _pair(parameters[name]) for name in ("strides", "dilations", "padding")
    )
    window = Window((height, width), kernel, strides, dilations, padding, (rows, columns))
    return layout, out_layout, window


def _pair(value: object) -> tuple[int, int]:
    first, second = cast("list[int]", value)
    return int(first), int(second)
