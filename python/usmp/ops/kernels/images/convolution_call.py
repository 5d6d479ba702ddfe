"""Calls of convolutions with constant weights. In a depthwise one, each data channel is a group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import tirx

from usmp.ops.kernels.call.data_window import data_window
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.call.weighted import WeightedOperator
from usmp.ops.records.products import Conv2d, DepthwiseConv2d
from usmp.ops.window import Window


@dataclass(frozen=True)
class Groups:
    """Groups of a convolution, each with `depth` data channels and `outputs` output channels."""

    window: Window
    number: int
    outputs: int
    depth: int

    @property
    def are_single_channels(self) -> bool:
        """Whether each group has one data channel and one output channel."""
        return self.outputs == self.depth == 1


@dataclass(frozen=True)
class ConvolutionCall:
    """A convolution of images that an operator call begins with.

    Parameters
    ----------
    weight
        (outputs, taps): taps in the order (row, column, channel of the group).
    reads_planes
        whether the data is NCHW, not NHWC.
    """

    operator: WeightedOperator
    weight: np.ndarray
    groups: Groups
    reads_planes: bool = False


def convolution_call(call: OperatorCall, may_read_planes: bool = False) -> ConvolutionCall | None:
    """Return the convolution that a call begins with; None if there is none with a known layout.

    Parameters
    ----------
    may_read_planes
        whether the data may be NCHW.
    """
    operator = call.weighted
    record = None if operator is None else operator.record
    if operator is None or not isinstance(record, Conv2d | DepthwiseConv2d):
        return None
    weight = record.by_output(operator.values)
    if weight.ndim != 4 or len(operator.data.shape) != 4:
        return None
    outputs, height, width, depth = weight.shape
    reads_planes = may_read_planes and record.layout.data.axes == "NCHW"
    number, rest = divmod(int(operator.data.shape[1 if reads_planes else 3]), depth)
    if rest or outputs % number:
        # The data has another layout.
        return None
    per_group = outputs // number
    _, _, _, c, _, _, *inner = operator.parts.axes
    channel = sum(inner, tirx.floordiv(c, per_group) * depth)
    layout = "NCHW" if reads_planes else "NHWC"
    window = data_window(operator.parts, operator.data, channel, layout)
    if window is None or window.kernel != (height, width):
        return None
    groups = Groups(window, number, per_group, depth)
    return ConvolutionCall(operator, weight.reshape(outputs, -1), groups, reads_planes)
