"""Shapes of operators' outputs where the file leaves an extent open.

A model whose batch is open has open extents further on, too. The file stores 1 for each of them:
the result of a RESHAPE to (-1, 4) has the stored shape (1, 4), whatever the size of the input.
LiteRT infers these shapes again from those of the inputs, and so does this module.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
import tflite

from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import positive_axis

Shape = tuple[int, ...]
Rule = Callable[[TfliteOperator], "Shape | None"]


def find_open_shape(operator: TfliteOperator) -> None:
    """Give an output with open extents the shape that follows from the inputs.

    Where there is no rule here, the converter of the operator infers the shape. Converters also
    refuse shapes that contradict the file.
    """
    rule = _RULES.get(operator.name)
    if rule is None or len(operator.outputs) != 1 or not operator.output.open_axes:
        return
    if any(tensor is None for tensor in operator.inputs[:1]) or not operator.inputs:
        return
    try:
        shape = rule(operator)
    except (ValueError, IndexError, OverflowError, ZeroDivisionError):
        return
    if shape is not None:
        operator.output.take_shape(shape)


def _of_first(operator: TfliteOperator) -> Shape | None:
    return operator.input(0).shape


def _broadcast(operator: TfliteOperator) -> Shape | None:
    shapes = [tensor.shape for tensor in operator.inputs if tensor is not None]
    return tuple(map(int, np.broadcast_shapes(*shapes)))


def _batch(operator: TfliteOperator) -> Shape | None:
    """Return the output's shape with the batch of the data; its other extents are kept."""
    return (operator.input(0).shape[0], *operator.output.shape[1:])


def _from_input(index: int) -> Rule:
    """Return a rule that takes the shape from the values of an input, if they are known."""

    def rule(operator: TfliteOperator) -> Shape | None:
        values = operator.input(index).data
        return None if values is None else tuple(map(int, values.reshape(-1)))

    return rule


def _reshaped(operator: TfliteOperator) -> Shape | None:
    """Return the new shape; an extent of -1 is inferred from the number of elements."""
    if len(operator.inputs) > 1:
        extents = _from_input(1)(operator)
    else:
        new = operator.options(tflite.ReshapeOptions).NewShapeAsNumpy()
        extents = None if isinstance(new, int) else tuple(map(int, new))
    if extents is None or extents.count(-1) > 1:
        return None
    rest = prod(operator.input(0).shape) // prod(extent for extent in extents if extent != -1)
    return tuple(rest if extent == -1 else extent for extent in extents)


def _expanded(operator: TfliteOperator) -> Shape | None:
    axes, data = _from_input(1)(operator), operator.input(0).shape
    if axes is None or len(axes) != 1:
        return None
    axis = positive_axis(operator, axes[0], len(data) + 1)
    return (*data[:axis], 1, *data[axis:])


def _squeezed(operator: TfliteOperator) -> Shape | None:
    """Return the shape without extents of 1 on the named axes, or on all axes if none is named."""
    named, data = (
        operator.options(tflite.SqueezeOptions).SqueezeDimsAsNumpy(),
        operator.input(0).shape,
    )
    listed = [] if isinstance(named, int) else [int(axis) for axis in named]
    axes = {positive_axis(operator, axis, len(data)) for axis in listed or range(len(data))}
    return tuple(e for axis, e in enumerate(data) if e != 1 or axis not in axes)


def _dense(operator: TfliteOperator) -> Shape | None:
    data, (outputs, depth) = operator.input(0).shape, operator.input(1).shape
    if operator.options(tflite.FullyConnectedOptions).KeepNumDims():
        return (*data[:-1], outputs)
    return (prod(data) // depth, outputs)


def _reduced(operator: TfliteOperator) -> Shape | None:
    listed, data = _from_input(1)(operator), operator.input(0).shape
    if listed is None:
        return None
    axes = {positive_axis(operator, axis, len(data)) for axis in listed}
    if operator.options(tflite.ReducerOptions).KeepDims():
        return tuple(1 if axis in axes else extent for axis, extent in enumerate(data))
    return tuple(extent for axis, extent in enumerate(data) if axis not in axes)


_SAME = """ABS CAST CEIL COS DEQUANTIZE ELU EXP FLOOR GELU HARD_SWISH L2_NORMALIZATION LEAKY_RELU
    LOG LOGICAL_NOT LOGISTIC LOG_SOFTMAX NEG QUANTIZE RELU RELU6 RELU_0_TO_1 RELU_N1_TO_1
    ROUND RSQRT SIGN SIN SOFTMAX SQRT SQUARE TANH ZEROS_LIKE""".split()
_IMAGES = """AVERAGE_POOL_2D CONV_2D DEPTHWISE_CONV_2D L2_POOL_2D MAX_POOL_2D RESIZE_BILINEAR
    RESIZE_NEAREST_NEIGHBOR""".split()
_TOGETHER = """ADD DIV EQUAL FLOOR_DIV FLOOR_MOD GREATER GREATER_EQUAL LESS LESS_EQUAL LOGICAL_AND
    LOGICAL_OR MAXIMUM MINIMUM MUL NOT_EQUAL POW PRELU SQUARED_DIFFERENCE SUB""".split()
_REDUCTIONS = "MEAN REDUCE_ALL REDUCE_ANY REDUCE_MAX REDUCE_MIN REDUCE_PROD SUM".split()
_RULES: dict[str, Rule] = {
    **dict.fromkeys(_SAME, _of_first),
    **dict.fromkeys(_IMAGES, _batch),
    **dict.fromkeys(_TOGETHER, _broadcast),
    **dict.fromkeys(_REDUCTIONS, _reduced),
    "BROADCAST_TO": _from_input(1),
    "EXPAND_DIMS": _expanded,
    "FILL": _from_input(0),
    "FULLY_CONNECTED": _dense,
    "RESHAPE": _reshaped,
    "SQUEEZE": _squeezed,
}
