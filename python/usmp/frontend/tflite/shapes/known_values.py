"""What a TFLite graph computes of shapes: these are known, and so are the results, before any run.

Converters write a shape with an open batch as SHAPE, STRIDED_SLICE, PACK and the like. An operator
whose inputs are all known is computed here, as TFLite's kernels compute it. What leaves its type,
and what a kernel refuses, is left to the converter of the operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import tflite

from usmp.frontend.tflite.file.model import TfliteOperator, TfliteTensor
from usmp.frontend.tflite.options import fused_activation, positive_axis
from usmp.frontend.tflite.shapes.strided_ranges import slice_ranges, slices_of, strided_ranges

Values = npt.NDArray[Any]
Compute = Callable[[TfliteOperator, Sequence[Values]], Sequence[Values] | None]

_MOST_ELEMENTS = 1024
"""More is no shape but a weight, which is folded with the others."""

_INTEGERS = ("int32", "int64")
_DTYPES = (*_INTEGERS, "bool", "float32")
_REAL = ("ADD", "CAST", "CEIL", "DIV", "FLOOR", "MUL", "SUB")
"""Operators of which IEEE 754 says what they give of float32."""


def known_results(operator: TfliteOperator) -> list[Values] | None:
    """The outputs, as the file gives their shapes and types; None if they are not known.

    Constants of float32 alone are weights; what is computed of them is no shape.
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
            results = compute(operator, known)
    except (ValueError, IndexError, TypeError, ZeroDivisionError, OverflowError):
        return None
    if results is None or len(results) != len(operator.outputs):
        return None
    held = [_held(value, t) for value, t in zip(results, operator.outputs, strict=True)]
    found = [value for value in held if value is not None]
    return found if len(found) == len(held) else None


def _are_few(tensors: Sequence[TfliteTensor]) -> bool:
    """Whether they are shapes, all together: one of a small file may be an input many times."""
    elements = sum(prod(tensor.shape) for tensor in tensors)
    return elements <= _MOST_ELEMENTS and all(tensor.dtype in _DTYPES for tensor in tensors)


def _exact(value: Values) -> Values:
    """Integers as Python's, which do not wrap."""
    return value.astype(object) if value.dtype.name in _INTEGERS else value


def _held(value: Any, tensor: TfliteTensor) -> Values | None:
    """The elements as the tensor holds them; None if it does not."""
    # Of a single Python integer, NumPy makes no array.
    value = np.asarray(value)
    tensor.take_shape(value.shape)
    if value.shape != tensor.shape:
        return None
    if tensor.dtype in _INTEGERS:
        limits = np.iinfo(tensor.dtype)
        if any(not limits.min <= number <= limits.max for number in value.reshape(-1).tolist()):
            return None
    return np.asarray(value, tensor.dtype)


def _arithmetic(kind: type | None, function: Callable[[Any, Any], Any]) -> Compute:
    """Of two inputs; with options of a `kind`, which may fuse an activation."""

    def compute(operator: TfliteOperator, values: Sequence[Values]) -> list[Values] | None:
        if kind is not None:
            activation = operator.options(kind).FusedActivationFunction()
            if fused_activation(activation) != "NONE":
                return None
        left, right = values
        return [np.asarray(function(left, right))]

    return compute


def _quotient(left: Values, right: Values) -> Values:
    """Of integers, towards zero, as C divides them."""
    if left.dtype != object:
        return np.asarray(left / right)
    whole: Values = np.asarray(abs(left) // abs(right))
    return whole * np.where((left < 0) == (right < 0), 1, -1)


def _single(function: Callable[[Any], Any]) -> Compute:
    """Of one input."""
    return lambda operator, values: [np.asarray(function(*values))]


def _reduction(function: Callable[..., Any]) -> Compute:
    """Over the axes of the second input."""

    def compute(operator: TfliteOperator, values: Sequence[Values]) -> list[Values]:
        data, axes = values
        over = {positive_axis(operator, int(a), data.ndim) for a in axes.reshape(-1)}
        result = function(data, axis=tuple(over))
        return [np.asarray(result, data.dtype).reshape(operator.output.shape)]

    return compute


def _cast(operator: TfliteOperator, values: Sequence[Values]) -> list[Values]:
    (data,) = values
    if operator.output.dtype == "bool":
        return [np.asarray(data != 0)]
    if operator.output.dtype in _INTEGERS:
        # Of what is not finite, Python has no integer.
        return [np.asarray([int(v) for v in data.reshape(-1)], object).reshape(data.shape)]
    return [data]


def _select(operator: TfliteOperator, values: Sequence[Values]) -> list[Values] | None:
    condition, first, second = values
    if operator.name == "SELECT" and condition.ndim != first.ndim:
        return None
    return [np.where(condition, first, second)]


def _reshape(operator: TfliteOperator, values: Sequence[Values]) -> list[Values]:
    return [values[0].reshape(operator.output.shape)]


def _pack(operator: TfliteOperator, values: Sequence[Values]) -> list[Values]:
    options = operator.options(tflite.PackOptions)
    return [np.stack(values, positive_axis(operator, options.Axis(), values[0].ndim + 1))]


def _unpack(operator: TfliteOperator, values: Sequence[Values]) -> list[Values]:
    (data,) = values
    axis = positive_axis(operator, operator.options(tflite.UnpackOptions).Axis(), data.ndim)
    return list(np.moveaxis(data, axis, 0))


def _concatenation(operator: TfliteOperator, values: Sequence[Values]) -> list[Values] | None:
    options = operator.options(tflite.ConcatenationOptions)
    if fused_activation(options.FusedActivationFunction()) != "NONE":
        return None
    axis = positive_axis(operator, options.Axis(), values[0].ndim)
    return [np.concatenate(values, axis)]


def _gather(operator: TfliteOperator, values: Sequence[Values]) -> list[Values] | None:
    options = operator.options(tflite.GatherOptions)
    data, indices = values[0], values[1].astype(np.int64)
    if options.BatchDims() or indices.min(initial=0) < 0:
        return None
    return [np.take(data, indices, positive_axis(operator, options.Axis(), data.ndim))]


def _slice(operator: TfliteOperator, values: Sequence[Values]) -> list[Values]:
    return [values[0][slices_of(slice_ranges(operator))]]


def _strided_slice(operator: TfliteOperator, values: Sequence[Values]) -> list[Values]:
    ranges, shape = strided_ranges(operator)
    return [np.asarray(values[0][slices_of(ranges)]).reshape(shape)]


def _fill(operator: TfliteOperator, values: Sequence[Values]) -> list[Values]:
    shape, value = values
    return [np.broadcast_to(value.reshape(()), tuple(shape.reshape(-1)))]


def _broadcast_to(operator: TfliteOperator, values: Sequence[Values]) -> list[Values]:
    data, shape = values
    return [np.broadcast_to(data, tuple(shape.reshape(-1)))]


def _broadcast_args(operator: TfliteOperator, values: Sequence[Values]) -> list[Values]:
    shapes = [tuple(value.reshape(-1)) for value in values]
    return [np.asarray(np.broadcast_shapes(*shapes), object)]


_MOVES: dict[str, Compute] = {
    "BROADCAST_TO": _broadcast_to,
    "CONCATENATION": _concatenation,
    "EXPAND_DIMS": _reshape,
    "FILL": _fill,
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
    "ADD": _arithmetic(tflite.AddOptions, lambda a, b: a + b),
    "BROADCAST_ARGS": _broadcast_args,
    "CAST": _cast,
    "CEIL": _single(np.ceil),
    "DIV": _arithmetic(tflite.DivOptions, _quotient),
    "EQUAL": _arithmetic(None, lambda a, b: a == b),
    "FLOOR": _single(np.floor),
    "FLOOR_DIV": _arithmetic(None, lambda a, b: a // b),
    "FLOOR_MOD": _arithmetic(None, lambda a, b: a % b),
    "GREATER": _arithmetic(None, lambda a, b: a > b),
    "GREATER_EQUAL": _arithmetic(None, lambda a, b: a >= b),
    "LESS": _arithmetic(None, lambda a, b: a < b),
    "LESS_EQUAL": _arithmetic(None, lambda a, b: a <= b),
    "LOGICAL_AND": _arithmetic(None, np.logical_and),
    "LOGICAL_NOT": _single(np.logical_not),
    "LOGICAL_OR": _arithmetic(None, np.logical_or),
    "MAXIMUM": _arithmetic(None, np.maximum),
    "MINIMUM": _arithmetic(None, np.minimum),
    "MUL": _arithmetic(tflite.MulOptions, lambda a, b: a * b),
    "NEG": _single(np.negative),
    "NOT_EQUAL": _arithmetic(None, lambda a, b: a != b),
    "REDUCE_MAX": _reduction(np.max),
    "REDUCE_MIN": _reduction(np.min),
    "REDUCE_PROD": _reduction(np.prod),
    "SELECT": _select,
    "SELECT_V2": _select,
    "SUB": _arithmetic(tflite.SubOptions, lambda a, b: a - b),
    "SUM": _reduction(np.sum),
}
"""Operators that shapes are computed with."""
