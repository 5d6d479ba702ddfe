"""The window that an operator moves over its data."""

from __future__ import annotations

from typing import Any, Protocol

from tvm import tirx
from tvm.ir import Range
from tvm.sym import Analyzer

from usmp.ops.kernels.operator_parts import OperatorParts
from usmp.ops.record import QuantizedOp
from usmp.ops.window import Window, layouts_named


class WindowedOperator(Protocol):
    """An operator that reads its data through a window, and its record."""

    @property
    def parts(self) -> OperatorParts:
        """What it computes."""

    @property
    def record(self) -> QuantizedOp:
        """How it says that the window moves."""

    @property
    def data(self) -> tirx.Var:
        """The parameter that is read."""


def data_window(
    operator: WindowedOperator, kernel: tuple[int, int], channel: tirx.Expr, layout: str = "NHWC"
) -> Window | None:
    """How the kernel moves, if the operator reads data in a layout as its record says, and its
    output is NHWC.

    Parameters
    ----------
    kernel
        height and width.
    channel
        of the data that is read.
    """
    parameters, output, data = operator.record.parameters, operator.parts.output, operator.data
    stored, written = layouts_named(str(parameters["layout"]))
    if (stored.axes, written.axes) != (layout, "NHWC") or len(data.shape) != 4:
        return None
    _, height, width, _ = stored.named([int(extent) for extent in data.shape])
    window = Window(
        (height, width),
        kernel,
        pair(parameters["strides"]),
        pair(parameters["dilations"]),
        pair(parameters["padding"]),
        (int(output.shape[1]), int(output.shape[2])),
    )
    load = operator.parts.load_of(data)
    b, y, x, _, ky, kx, *_ = operator.parts.axes
    row, column = window.position((y, x), (ky, kx))
    analyzer = Analyzer()
    for axis, extent in zip(operator.parts.axes, operator.parts.extents, strict=True):
        analyzer.bind(axis, Range(0, extent))
    is_known = load is not None and all(
        analyzer.can_prove_equal(index, expected)
        for index, expected in zip(load.indices, stored.order(b, row, column, channel), strict=True)
    )
    return window if is_known else None


def pair(values: Any) -> tuple[int, int]:
    """A parameter of height and width."""
    first, second = values
    return int(first), int(second)
