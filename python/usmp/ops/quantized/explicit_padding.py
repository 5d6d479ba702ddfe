"""Padding before a convolution, by an operator of its own (`R.nn.pad`)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import tvm
from tvm import relax
from tvm.ir import Call

from usmp.ops.emit import shape_of
from usmp.ops.window import Layout, Window
from usmp.tir.spans import AnySpan


@dataclass(frozen=True)
class ExplicitPadding:
    """The padding of data by rows and columns.

    Parameters
    ----------
    source
        the data without padding.
    before
        rows above and columns to the left.
    span
        position of the padding operator in the model; None if unknown.
    """

    source: relax.Expr
    before: tuple[int, int]
    span: AnySpan | None = None

    def fold(self, window: Window, layout: Layout) -> Window:
        """Return `window`, which moves over the padded data, as a window over the source."""
        _, height, width, _ = layout.named(shape_of(self.source))
        top, left = (window.padding[side] + self.before[side] for side in (0, 1))
        return replace(window, data=(height, width), padding=(top, left))


def explicit_padding(
    builder: relax.BlockBuilder, data: relax.Expr, value: int, layout: Layout
) -> ExplicitPadding | None:
    """Return the padding of rows and columns with `value` that computes `data`; None if there
    is no such padding."""
    if not isinstance(data, tvm.ir.Var):
        return None
    bound = builder.lookup_binding(data)
    if not isinstance(bound, Call) or getattr(bound.op, "name", None) != "relax.nn.pad":
        return None
    attrs = bound.attrs
    widths = [int(width) for width in attrs.pad_width]
    batch, rows, columns, channels = layout.named(list(zip(widths[::2], widths[1::2], strict=True)))
    if attrs.pad_mode != "constant" or float(attrs.pad_value) != value:
        return None
    if batch != (0, 0) or channels != (0, 0):
        return None
    return ExplicitPadding(bound.args[0], (rows[0], columns[0]), bound.span)
