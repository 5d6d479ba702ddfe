"""A call of a convolution with constant weights, in groups or not; depthwise, each channel of the
data is a group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import tirx

from usmp.ops.kernels.data_window import data_window
from usmp.ops.kernels.operator_call import OperatorCall
from usmp.ops.kernels.weighted import WeightedOperator
from usmp.ops.window import Window, layouts_named


@dataclass(frozen=True)
class Groups:
    """The groups of a convolution, each of which makes `outputs` channels of `depth` channels."""

    window: Window
    number: int
    outputs: int
    depth: int

    @property
    def are_single_channels(self) -> bool:
        """Whether each channel of the data makes one."""
        return self.outputs == self.depth == 1


@dataclass(frozen=True)
class ConvolutionCall:
    """A convolution to NHWC data.

    Parameters
    ----------
    weight
        (outputs, taps): of each output channel by row, column and channel of its group.
    reads_planes
        whether its data is NCHW, not NHWC.
    """

    operator: WeightedOperator
    weight: np.ndarray
    groups: Groups
    reads_planes: bool = False


def convolution_call(call: OperatorCall, may_read_planes: bool = False) -> ConvolutionCall | None:
    """The convolution that a call begins with, if it does.

    Parameters
    ----------
    may_read_planes
        whether its data may be NCHW.
    """
    operator = call.weighted
    weight = None if operator is None else _weight(operator)
    if operator is None or weight is None or len(operator.data.shape) != 4:
        return None
    outputs, height, width, depth = weight.shape
    stored, _ = layouts_named(str(operator.record.parameters["layout"]))
    reads_planes = may_read_planes and stored.axes == "NCHW"
    number, rest = divmod(int(operator.data.shape[1 if reads_planes else 3]), depth)
    if rest or outputs % number:
        # The data has another layout.
        return None
    per_group = outputs // number
    _, _, _, c, _, _, *inner = operator.parts.axes
    channel = sum(inner, tirx.floordiv(c, per_group) * depth)
    layout = "NCHW" if reads_planes else "NHWC"
    window = data_window(operator, (height, width), channel, layout)
    if window is None:
        return None
    groups = Groups(window, number, per_group, depth)
    return ConvolutionCall(operator, weight.reshape(outputs, -1), groups, reads_planes)


def _weight(operator: WeightedOperator) -> np.ndarray | None:
    """(outputs, kernel height, kernel width, depth of a group)."""
    if operator.record.kind == "conv2d" and operator.values.ndim == 4:
        return operator.values
    if operator.record.kind == "depthwise_conv2d":
        return operator.values.transpose(2, 0, 1)[..., np.newaxis]
    return None
