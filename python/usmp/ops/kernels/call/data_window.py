"""The kernel window that an operator moves over its data."""

from __future__ import annotations

from collections.abc import Mapping

from tvm import tirx
from tvm.ir import Range
from tvm.sym import Analyzer, detect_linear_equation

from usmp.ops.kernels.call.operator_parts import OperatorParts
from usmp.ops.window import Layout, Window


def data_window(
    parts: OperatorParts, data: tirx.Var, channel: tirx.Expr, layout: str = "NHWC"
) -> Window | None:
    """Return the kernel window over data in `layout`; None without a window or NHWC output.

    Parameters
    ----------
    data
        the parameter that holds the data.
    channel
        the index of the data channel that the reduction reads.
    """
    load, shapes = parts.load_of(data), (data.shape, parts.output.shape)
    if load is None or any(len(shape) != 4 for shape in shapes) or len(parts.axes) < 6:
        return None
    b, y, x, _, ky, kx, *_ = parts.axes
    batch, row, column, data_channel = Layout(layout).named(load.indices)
    extents = dict(zip(parts.axes, parts.extents, strict=True))
    sides = [_moves(row, y, ky, extents), _moves(column, x, kx, extents)]
    analyzer = Analyzer()
    for axis, extent in extents.items():
        analyzer.bind(axis, Range(0, extent))
    is_same = analyzer.can_prove_equal(batch, b) and analyzer.can_prove_equal(data_channel, channel)
    if not is_same or None in sides:
        return None
    strides, dilations, padding = zip(*(side for side in sides if side), strict=True)
    (height, width), (rows, columns) = (
        [int(extent) for extent in Layout(name).named(shape)[1:3]]
        for name, shape in zip((layout, "NHWC"), shapes, strict=True)
    )
    kernel = parts.extents[4], parts.extents[5]
    return Window((height, width), kernel, strides, dilations, padding, (rows, columns))


def _moves(
    index: tirx.Expr, output: tirx.Var, tap: tirx.Var, extents: Mapping[tirx.Var, int]
) -> tuple[int, int, int] | None:
    """Return stride, dilation and padding of an index `output * stride + tap * dilation - padding`;
    None if it has another form."""
    linear = detect_linear_equation(index, [output, tap])
    if len(linear) != 3 or not all(isinstance(value, tirx.IntImm) for value in linear):
        return None
    *steps, first = map(int, linear)
    # Simplification drops axes of extent 1 from the index: their step counts as 1.
    stride, dilation = (
        step or int(extents[axis] == 1) for step, axis in zip(steps, (output, tap), strict=True)
    )
    return (stride, dilation, -first) if min(stride, dilation) > 0 else None
