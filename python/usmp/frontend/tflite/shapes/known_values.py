"""Values that a TFLite graph computes from shapes, which are known before any run.

Converters write a shape with an open batch as SHAPE, STRIDED_SLICE, PACK and the like. An operator
whose inputs are all known is computed here, as TFLite's kernels compute it. Results that overflow
their type, and inputs that a kernel refuses, are left to the converter of the operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import tflite

from usmp.frontend.size_arithmetic import MOST_ELEMENTS
from usmp.frontend.tflite.file.model import TfliteOperator, TfliteTensor
from usmp.frontend.tflite.options import fused_activation, positive_axis
from usmp.frontend.tflite.shapes.strided_ranges import slice_ranges, slices_of, strided_ranges

Values = npt.NDArray[Any]
Compute = Callable[..., Any]
"""Computes an operator from its inputs' values: the output, a list of outputs, or None."""

_INTEGERS = ("int32", "int64")
_DTYPES = (*_INTEGERS, "bool", "float32")
_REAL = ("ADD", "CAST", "CEIL", "DIV", "FLOOR", "MUL", "SUB")
"""Operators whose float32 results are defined exactly by IEEE 754."""

_FUSING: dict[str, type] = {
    "ADD": tflite.AddOptions,
    "CONCATENATION": tflite.ConcatenationOptions,
    "DIV": tflite.DivOptions,
    "MUL": tflite.MulOptions,
    "SUB": tflite.SubOptions,
}
"""Operator that may fuse an activation -> the type of its options."""


def known_results(operator: TfliteOperator) -> list[Values] | None:
    """Return the outputs in the shapes and types of the file, or None if they are not known.

    Operators on float32 need a computed input, because constants alone are weights.
    """
    compute = _COMPUTED.get(operator.name)
    inputs = [tensor for tensor in operator.inputs if tensor is not None]
    if compute is None or not inputs or len(inputs) < len(operator.inputs):
        return None
    if not (_are_few(inputs) and _are_few(operator.outputs)):
        return None
    if any(t.dtype == "float32" for t in (*inputs, *operator.outputs)):
        is_of_shapes = any(tensor.is_computed for tensor in inputs)
        if not is_of_shapes or operator.name not in (*_REAL, *_MOVES):
            return None
    values = [tensor.data for tensor in inputs]
    known = [_exact(value) for value in values if value is not None]
    if len(known) < len(values):
        return None
    try:
        with np.errstate(all="ignore"):
            results = None if _fuses_activation(operator) else compute(operator, *known)
    except (ValueError, IndexError, TypeError, ZeroDivisionError, OverflowError):
        return None
    results = results if isinstance(results, list) else [results]
    if len(results) != len(operator.outputs):
        return None
    held = [_held(value, t) for value, t in zip(results, operator.outputs, strict=True)]
    outputs = [value for value in held if value is not None]
    return outputs if len(outputs) == len(held) else None


def _fuses_activation(operator: TfliteOperator) -> bool:
    kind = _FUSING.get(operator.name)
    activation = operator.options(kind).FusedActivationFunction() if kind else 0
    return fused_activation(activation) != "NONE"


def _are_few(tensors: Sequence[TfliteTensor]) -> bool:
    """Return whether the tensors have types of shapes, and together at most `MOST_ELEMENTS`."""
    elements = sum(prod(tensor.shape) for tensor in tensors)
    return elements <= MOST_ELEMENTS and all(tensor.dtype in _DTYPES for tensor in tensors)


def _exact(value: Values) -> Values:
    """Return integers as Python integers, which do not overflow."""
    return value.astype(object) if value.dtype.name in _INTEGERS else value


def _held(value: Any, tensor: TfliteTensor) -> Values | None:
    """Return the elements in the tensor's type; None if a number or the shape does not fit."""
    if value is None:
        return None
    # NumPy returns a plain Python integer for a single element of an array of objects.
    value = np.asarray(value)
    tensor.take_shape(value.shape)
    if value.shape != tensor.shape:
        return None
    if tensor.dtype in _INTEGERS:
        limits = np.iinfo(tensor.dtype)
        if any(not limits.min <= number <= limits.max for number in value.reshape(-1).tolist()):
            return None
    return np.asarray(value, tensor.dtype)


def _of_one(function: Callable[[Any], Any]) -> Compute:
    return lambda operator, data: function(data)


def _of_two(function: Callable[[Any, Any], Any]) -> Compute:
    return lambda operator, left, right: function(left, right)


def _quotient(left: Values, right: Values) -> Values:
    """Return the quotient; integers are divided toward zero, as in C."""
    if left.dtype != object:
        return np.asarray(left / right)
    whole: Values = np.asarray(abs(left) // abs(right))
    return whole * np.where((left < 0) == (right < 0), 1, -1)


def _reduction(function: Callable[..., Any]) -> Compute:
    """Return a computation that reduces the data over the axes of the second input."""

    def compute(operator: TfliteOperator, data: Values, axes: Values) -> Values:
        over = {positive_axis(operator, int(a), data.ndim) for a in axes.reshape(-1)}
        result = function(data, axis=tuple(over))
        return np.asarray(result, data.dtype).reshape(operator.output.shape)

    return compute


def _cast(operator: TfliteOperator, data: Values) -> Values:
    if operator.output.dtype == "bool":
        return np.asarray(data != 0)
    if operator.output.dtype in _INTEGERS:
        # `int` raises on NaN and infinities, so that the result stays unknown.
        return np.asarray([int(v) for v in data.reshape(-1)], object).reshape(data.shape)
    return data


def _select(
    operator: TfliteOperator, condition: Values, first: Values, second: Values
) -> Values | None:
    is_large = np.broadcast(condition, first, second).size > MOST_ELEMENTS
    if is_large or (operator.name == "SELECT" and condition.ndim != first.ndim):
        return None
    return np.where(condition, first, second)


def _reshape(operator: TfliteOperator, data: Values, *_: Values) -> Values:
    return data.reshape(operator.output.shape)


def _pack(operator: TfliteOperator, *values: Values) -> Values:
    axis = operator.options(tflite.PackOptions).Axis()
    return np.stack(values, positive_axis(operator, axis, values[0].ndim + 1))


def _unpack(operator: TfliteOperator, data: Values) -> list[Values]:
    axis = operator.options(tflite.UnpackOptions).Axis()
    return list(np.moveaxis(data, positive_axis(operator, axis, data.ndim), 0))


def _concatenation(operator: TfliteOperator, *values: Values) -> Values:
    axis = operator.options(tflite.ConcatenationOptions).Axis()
    return np.concatenate(values, positive_axis(operator, axis, values[0].ndim))


def _gather(operator: TfliteOperator, data: Values, indices: Values) -> Values | None:
    options = operator.options(tflite.GatherOptions)
    if options.BatchDims() or indices.min(initial=0) < 0:
        return None
    axis = positive_axis(operator, options.Axis(), data.ndim)
    return np.take(data, indices.astype(np.int64), axis)


def _slice(operator: TfliteOperator, data: Values, *_: Values) -> Values:
    return np.asarray(data[slices_of(slice_ranges(operator))])


def _strided_slice(operator: TfliteOperator, data: Values, *_: Values) -> Values:
    ranges, shape = strided_ranges(operator)
    return np.asarray(data[slices_of(ranges)]).reshape(shape)


def _fill(shape: Values, value: Values) -> Values:
    return np.broadcast_to(value.reshape(()), tuple(shape.reshape(-1)))


def _broadcast_to(data: Values, shape: Values) -> Values:
    return np.broadcast_to(data, tuple(shape.reshape(-1)))


def _broadcast_args(operator: TfliteOperator, *shapes: Values) -> Values:
    return np.asarray(np.broadcast_shapes(*(tuple(s.reshape(-1)) for s in shapes)), object)


_MOVES: dict[str, Compute] = {
    "BROADCAST_TO": _of_two(_broadcast_to),
    "CONCATENATION": _concatenation,
    "EXPAND_DIMS": _reshape,
    "FILL": _of_two(_fill),
    "GATHER": _gather,
    "PACK": _pack,
    "RESHAPE": _reshape,
    "SLICE": _slice,
    "SQUEEZE": _reshape,
    "STRIDED_SLICE": _strided_slice,
    "UNPACK": _unpack,
}
_COMPUTED: dict[str, Compute] = {
    **_MOVES,
    "ADD": _of_two(np.add),
    "BROADCAST_ARGS": _broadcast_args,
    "CAST": _cast,
    "CEIL": _of_one(np.ceil),
    "DIV": _of_two(_quotient),
    "EQUAL": _of_two(np.equal),
    "FLOOR": _of_one(np.floor),
    "FLOOR_DIV": _of_two(np.floor_divide),
    "FLOOR_MOD": _of_two(np.remainder),
    "GREATER": _of_two(np.greater),
    "GREATER_EQUAL": _of_two(np.greater_equal),
    "LESS": _of_two(np.less),
    "LESS_EQUAL": _of_two(np.less_equal),
    "LOGICAL_AND": _of_two(np.logical_and),
    "LOGICAL_NOT": _of_one(np.logical_not),
    "LOGICAL_OR": _of_two(np.logical_or),
    "MAXIMUM": _of_two(np.maximum),
    "MINIMUM": _of_two(np.minimum),
    "MUL": _of_two(np.multiply),
    "NEG": _of_one(np.negative),
    "NOT_EQUAL": _of_two(np.not_equal),
    "REDUCE_MAX": _reduction(np.max),
    "REDUCE_MIN": _reduction(np.min),
    "REDUCE_PROD": _reduction(np.prod),
    "SELECT": _select,
    "SELECT_V2": _select,
    "SUB": _of_two(np.subtract),
    "SUM": _reduction(np.sum),
}
"""Operator with which converters compute shapes -> its computation in NumPy."""
