"""Records of operators that move a window over images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from usmp.ops.records.base import QuantizedOp
from usmp.ops.rounding import Rounding
from usmp.ops.window import Layouts, Window


@dataclass(frozen=True, kw_only=True)
class WindowedOp(QuantizedOp):
    """An operator that moves a window over images; pairs are (height, width).

    Parameters
    ----------
    layout
        layout of the data and of the output.
    strides, dilations
        steps in the data from one output, or tap, to the next.
    padding
        rows above and columns to the left of the data that the window reaches into.
    """

    layout: Layouts
    strides: tuple[int, int]
    dilations: tuple[int, int]
    padding: tuple[int, int]

    def window(self, kernel: tuple[int, int], data: Sequence[int], output: Sequence[int]) -> Window:
        """Return the window of a kernel over data of a shape, for an output of a shape."""
        _, height, width, _ = self.layout.data.named(data)
        _, rows, columns, _ = self.layout.output.named(output)
        moves = (self.strides, self.dilations, self.padding)
        return Window((height, width), kernel, *moves, (rows, columns))


@dataclass(frozen=True, kw_only=True)
class PoolOp(WindowedOp):
    """A reduction of the elements under a window, channel by channel.

    Parameters
    ----------
    kernel
        extents of the window.
    clamp
        least and greatest integer of the output.
    """

    kernel: tuple[int, int]
    clamp: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class AveragePool(PoolOp, kind="average_pool"):
    """Mean of the elements under a window.

    Parameters
    ----------
    counts_padding
        whether padding counts as zeros; else the mean is over the elements inside the data.
    rounding
        rounding of the product with the factor between the scales.
    """

    counts_padding: bool
    rounding: Rounding = Rounding.TWICE


class MaxPool(PoolOp, kind="max_pool"):
    """Greatest element under a window."""
