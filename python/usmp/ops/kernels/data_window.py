"""The window that an operator moves over its data."""

from __future__ import annotations

from tvm import tirx
from tvm.ir import Range
from tvm.sym import Analyzer

from usmp.ops.kernels.operator_parts import OperatorParts
from usmp.ops.records.windowed import WindowedOp
from usmp.ops.window import Window


def data_window(
    parts: OperatorParts,
    record: WindowedOp,
    data: tirx.Var,
    kernel: tuple[int, int],
    channel: tirx.Expr,
    layout: str = "NHWC",
) -> Window | None:
    """How the kernel moves, if the operator reads data in a layout as its record says, and its
    output is NHWC.

    Parameters
    ----------
    data
        the parameter that is read.
    kernel
        height and width.
    channel
        of the data that is read.
    """
    stored, written = record.layout
    if (stored.axes, written.axes) != (layout, "NHWC"):
        return None
    shapes = [[int(extent) for extent in tensor.shape] for tensor in (data, parts.output)]
    if any(len(shape) != 4 for shape in shapes):
        return None
    window = record.window(kernel, *shapes)
    load = parts.load_of(data)
    b, y, x, _, ky, kx, *_ = parts.axes
    row, column = window.position((y, x), (ky, kx))
    analyzer = Analyzer()
    for axis, extent in zip(parts.axes, parts.extents, strict=True):
        analyzer.bind(axis, Range(0, extent))
    is_known = load is not None and all(
        analyzer.can_prove_equal(index, expected)
        for index, expected in zip(load.indices, stored.order(b, row, column, channel), strict=True)
    )
    return window if is_known else None
