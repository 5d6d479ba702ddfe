"""Operators that work element by element."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from support.operator_trials.tflite.draw import QUANTIZED, TYPES, Draft, Draw, Model
from support.operator_trials.trial import Tolerance
from support.quantized_models.model import Constant, Spec
from support.tflite_builder import Options, options

ACTIVATIONS = range(6)
"""NONE, RELU, RELU_N1_TO_1, RELU6, TANH, SIGN_BIT."""
COMPARISONS = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
WITH_ACTIVATION = {
    "ADD": "AddOptions",
    "SUB": "SubOptions",
    "MUL": "MulOptions",
    "DIV": "DivOptions",
}
UNARY = (
    "ABS",
    "CEIL",
    "COS",
    "ELU",
    "EXP",
    "FLOOR",
    "HARD_SWISH",
    "LOG",
    "LOGISTIC",
    "NEG",
    "RELU",
    "RELU6",
    "RELU_0_TO_1",
    "RELU_N1_TO_1",
    "ROUND",
    "RSQRT",
    "SIGN",
    "SIN",
    "SQRT",
    "SQUARE",
    "TANH",
    "ZEROS_LIKE",
)
_OUTPUTS = {
    "LOGISTIC": {"int8": (1 / 256, -128), "uint8": (1 / 256, 0), "int16": (1 / 32768, 0)},
    "TANH": {"int8": (1 / 128, 0), "uint8": (1 / 128, 128), "int16": (1 / 32768, 0)},
}
_OTHERS = ("float64", "uint16", "uint32", "uint64")
"""Types that BITCAST takes beside those of most operators."""
_LIMITS = {
    "COS": (-20.0, 20.0),
    "SIN": (-20.0, 20.0),
    "LOG": (-1.0, 50.0),
    "SQRT": (-1.0, 50.0),
    "RSQRT": (-1.0, 50.0),
    "EXP": (-20.0, 20.0),
}
"""Of floats: beyond, what is close is a question of the C library."""


def activation(draw: Draw) -> int:
    """The fused activation; often none."""
    return 0 if draw.flag(0.4) else draw.choice(ACTIVATIONS)


def unary(code: str) -> Draft:
    """Operators of one input and no option."""

    def draft(draw: Draw) -> Model:
        dtype = draw.dtype()
        x = draw.spec(draw.shape(), dtype)
        y = x if draw.flag(0.4) else draw.spec(x.shape, dtype)
        if dtype in _OUTPUTS.get(code, {}):
            y = Spec(x.shape, *_OUTPUTS[code][dtype], dtype)
        limits = {0: _LIMITS[code]} if code in _LIMITS and dtype == "float32" else {}
        if code in ("RSQRT", "SQRT") and dtype == "int8":
            x = Spec(x.shape, x.scale, -128, dtype)
        if code in ("RSQRT", "SQRT") and dtype == "int16":
            limits = {0: (0, 2**15 - 1)}
        # tflite-micro takes the quantization of the output to be that of the input.
        return Model([x], [y], limits=limits, is_for_litert=code == "RELU6" and y != x)

    return draft


def leaky_relu(draw: Draw) -> Model:
    dtype = draw.dtype(("float32", *QUANTIZED))
    x, y = (draw.spec(shape, dtype) for shape in [draw.shape()] * 2)
    return Model([x], [y(*x.shape)], options("LeakyReluOptions", alpha=draw.scale(0.01, 2)))


def gelu(draw: Draw) -> Model:
    dtype = draw.dtype(("float32", *QUANTIZED))
    shape = draw.shape()
    table = options("GeluOptions", approximate=draw.flag())
    return Model([draw.spec(shape, dtype)], [draw.spec(shape, dtype)], table)


def prelu(draw: Draw) -> Model:
    dtype = draw.dtype(("float32", *QUANTIZED))
    shape = draw.shape(1, 4)
    slopes = tuple(1 if draw.flag(0.4) else extent for extent in shape)[draw.number(0, 1) :]
    alpha = draw.spec(slopes, "int8" if dtype == "int16" else dtype)
    given = alpha if draw.flag(0.3) else draw.constant(alpha)
    return Model([draw.spec(shape, dtype), given], [draw.spec(shape, dtype)])


def binary(code: str) -> Draft:
    """Operators of two inputs that are broadcast to each other."""

    def draft(draw: Draw) -> Model:
        types = ("bool",) if code.startswith("LOGICAL_") else TYPES
        dtype = draw.dtype(types)
        shapes = draw.broadcast()
        a, b = (draw.spec(shape, dtype) for shape in shapes)
        if code == "DIV" and b.zero_point == 127:
            b = Spec(b.shape, b.scale, 0, dtype)
        y = _output(draw, code, np.broadcast_shapes(*shapes), dtype)
        if code == "DIV" and dtype == "int16":
            y = Spec(y.shape, a.scale / b.scale / 2 ** draw.number(6, 14), 0, dtype)
        if code in ("MAXIMUM", "MINIMUM", "RIGHT_SHIFT", "BITWISE_XOR") or draw.flag(0.2):
            b = Spec(b.shape, a.scale, a.zero_point, dtype)
            y = Spec(y.shape, a.scale, a.zero_point, y.dtype) if y.scale else y
        limits = _limits(draw, code, dtype, (a.zero_point, b.zero_point))
        if code in COMPARISONS and dtype in QUANTIZED and draw.flag():
            limits = {0: _near(a), 1: _near(b)}
        given: list[Spec | Constant] = [a, b]
        if draw.flag(0.3):
            side = draw.number(0, 1)
            given[side] = _constant(draw, given[side], limits.get(side))
        # tflite-micro has no scales for int16.
        is_for_litert = code in COMPARISONS and dtype == "int16"
        return Model(given, [y], _options(draw, code), limits, _tolerance(code), is_for_litert)

    return draft


def _near(spec: Spec) -> tuple[float, float]:
    """Integers around the zero point, of which many are equal."""
    least, greatest = (np.iinfo(spec.dtype).min, np.iinfo(spec.dtype).max)
    return max(spec.zero_point - 4, least), min(spec.zero_point + 4, greatest)


def _tolerance(code: str) -> Tolerance:
    return Tolerance(1e-5, 1e-5) if code in ("POW", "ATAN2") else Tolerance()


def _output(draw: Draw, code: str, shape: Sequence[int], dtype: str) -> Spec:
    if code in COMPARISONS or code.startswith("LOGICAL_"):
        return Spec(tuple(shape), 0, 0, "bool")
    return draw.spec(shape, dtype)


def _limits(
    draw: Draw, code: str, dtype: str, zero_points: tuple[int, int]
) -> dict[int, tuple[float, float]]:
    if code == "POW":
        if dtype == "float32":
            return {0: (0.1, 5.0), 1: (-4.0, 4.0)}
        return {0: (-5, 5), 1: (0, 7)}
    if code in ("DIV", "FLOOR_DIV", "FLOOR_MOD") and dtype not in ("bool", "uint8", "int8"):
        return {1: draw.choice(((1, 100), (-9, -2)))}
    if code in ("FLOOR_DIV", "FLOOR_MOD"):
        return {1: (1, 100)}
    if code == "DIV" and dtype == "int8":
        # A divisor that is not zero, and quotients that are not so small that the kernels shift by
        # more than 31 bits.
        first, second = zero_points
        dividend = (first + 40, 127) if first < 0 else (-128, first - 40)
        return {0: dividend, 1: (second + 1, min(second + 20, 127))}
    if code == "RIGHT_SHIFT":
        return {1: (0, 7)}
    return {}


def _constant(draw: Draw, spec: Spec, limits: tuple[float, float] | None) -> Constant:
    constant = draw.constant(spec)
    if limits is None:
        return constant
    data = draw.generator.uniform(*limits, spec.shape)
    return Constant(np.asarray(data, spec.dtype), constant.quantization)


def _options(draw: Draw, code: str) -> Options | None:
    if code in WITH_ACTIVATION:
        return options(WITH_ACTIVATION[code], fused_activation_function=activation(draw))
    return None


def add_n(draw: Draw) -> Model:
    dtype = draw.dtype(("float32", "int32", "int8", "int16", "int64"))
    x = draw.spec(draw.shape(), dtype)
    inputs = [Spec(x.shape, x.scale, x.zero_point, dtype) for _ in range(draw.number(2, 4))]
    return Model(inputs, [draw.spec(x.shape, dtype)], options("AddNOptions"))


def cast(draw: Draw) -> Model:
    x = Spec(draw.shape(), 0, 0, draw.dtype())
    y = draw.choice(TYPES)
    limits = {0: (-100.0, 100.0)} if x.dtype == "float32" and y != "uint8" else {}
    if x.dtype == "float32" and y == "uint8":
        limits = {0: (0.0, 250.0)}
    return Model([x], [Spec(x.shape, 0, 0, y)], options("CastOptions"), limits)


def bitcast(draw: Draw) -> Model:
    """Draw elements of the same size, or a last axis of smaller ones on either side."""
    x = draw.spec(draw.shape(0, 4), draw.dtype((*TYPES, *_OTHERS)))
    y = draw.choice([dtype for dtype in (*TYPES, *_OTHERS) if dtype != "bool"])
    sizes = np.dtype(x.dtype).itemsize, np.dtype(y).itemsize
    before, after = (max(sizes) // size for size in sizes)
    given = x(*x.shape, *([before] if before > 1 else []))
    result = draw.spec((*x.shape, *([after] if after > 1 else [])), y)
    return Model([given], [result], options("BitcastOptions"))


def logical_not(draw: Draw) -> Model:
    x = Spec(draw.shape(), 0, 0, "bool")
    return Model([x], [x])


def quantize(draw: Draw) -> Model:
    shape = draw.shape()
    x = draw.spec(shape, draw.dtype(("float32", *QUANTIZED, "int32")))
    if x.dtype == "int32":
        x = Spec(shape, draw.scale(1e-8, 1e-5), 0, "int32")
    y = draw.spec(shape, draw.choice((*QUANTIZED, "int32")))
    if y.dtype == "int32":
        y = Spec(shape, draw.scale(1e-8, 1e-5), 0, "int32")
    return Model([x], [y], options("QuantizeOptions"))


def dequantize(draw: Draw) -> Model:
    x = draw.spec(draw.shape(), draw.dtype(QUANTIZED))
    return Model([x], [Spec(x.shape, 0, 0, "float32")], options("DequantizeOptions"))


def select(code: str) -> Draft:
    """SELECT and SELECT_V2; the first broadcasts a vector of conditions only."""

    def draft(draw: Draw) -> Model:
        dtype = draw.dtype()
        a, b = draw.broadcast() if code == "SELECT_V2" else [draw.shape()] * 2
        shape = np.broadcast_shapes(a, b)
        condition = shape
        if draw.flag(0.5):
            condition = tuple(1 if draw.flag() else extent for extent in shape)
            if code == "SELECT":
                condition = draw.choice([shape[:1], ()])
        x = draw.spec(a, dtype)
        inputs = [Spec(condition, 0, 0, "bool"), x, Spec(b, x.scale, x.zero_point, dtype)]
        table = options("SelectV2Options" if code == "SELECT_V2" else "SelectOptions")
        return Model(inputs, [x(*shape)], table)

    return draft


DRAFTS: dict[str, Draft] = {
    **{code: unary(code) for code in UNARY},
    **{
        code: binary(code)
        for code in (
            *WITH_ACTIVATION,
            *COMPARISONS,
            "ATAN2",
            "BITWISE_XOR",
            "FLOOR_DIV",
            "FLOOR_MOD",
            "LOGICAL_AND",
            "LOGICAL_OR",
            "MAXIMUM",
            "MINIMUM",
            "POW",
            "RIGHT_SHIFT",
            "SQUARED_DIFFERENCE",
        )
    },
    "ADD_N": add_n,
    "BITCAST": bitcast,
    "CAST": cast,
    "DEQUANTIZE": dequantize,
    "GELU": gelu,
    "LEAKY_RELU": leaky_relu,
    "LOGICAL_NOT": lambda draw: Model(
        [Spec(s := draw.shape(), 0, 0, "bool")], [Spec(s, 0, 0, "bool")]
    ),
    "PRELU": prelu,
    "QUANTIZE": quantize,
    "SELECT": select("SELECT"),
    "SELECT_V2": select("SELECT_V2"),
}
