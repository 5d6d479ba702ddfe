"""Operators that compute each element from one element of each operand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

import numpy as np

from support.lazy import lazy
from support.operator_trials.onnx.one_node import MICROSOFT, Varied, node_trial, opset_of
from support.operator_trials.onnx.samples import (
    broadcast_of,
    constant,
    either,
    extremes,
    shape_of,
    type_of,
    values,
)
from support.operator_trials.trial import Generator, Trial

helper = lazy("onnx.helper")

INFINITIES = (np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0)
WITH_NAN = (*INFINITIES, np.nan)
HALVES = (0.5, -0.5, 1.5, -1.5, 2.5, -2.5)

_RANGES = {
    "Log": (0.01, 9), "Acos": (-1, 1), "Asin": (-1, 1), "Acosh": (1, 9), "Atanh": (-0.99, 0.99),
    "Exp": (-9, 9), "Cosh": (-9, 9), "Sinh": (-9, 9), "Tan": (-1.4, 1.4), "Sqrt": (0, 9),
    "Reciprocal": (0.1, 5), "Sin": (-9, 9), "Cos": (-9, 9),
}  # fmt: skip
_SPECIAL = {
    "Abs": WITH_NAN, "Neg": WITH_NAN, "Floor": WITH_NAN, "Ceil": WITH_NAN, "IsNaN": WITH_NAN,
    "IsInf": WITH_NAN, "Round": (*HALVES, *WITH_NAN), "Sqrt": WITH_NAN, "Exp": WITH_NAN,
    "Log": WITH_NAN, "Reciprocal": WITH_NAN, "Sigmoid": WITH_NAN, "Tanh": WITH_NAN,
    "Erf": WITH_NAN, "Relu": INFINITIES, "Sign": INFINITIES, "LeakyRelu": INFINITIES,
    "Elu": INFINITIES, "Selu": INFINITIES, "HardSigmoid": INFINITIES, "ThresholdedRelu": INFINITIES,
    "Celu": INFINITIES,
    "Sin": (0.0, -0.0, np.nan), "Cos": (0.0, np.nan), "Atan": WITH_NAN, "Softsign": (0.0, np.nan),
    "Acos": (np.nan, 2.0), "Asin": (np.nan, -2.0), "Acosh": (np.nan, 0.5, np.inf),
    "Softplus": (*INFINITIES, 100.0, -100.0), "Asinh": INFINITIES, "Atanh": (1.0, -1.0, np.nan),
    "Cosh": INFINITIES, "Sinh": INFINITIES, "Shrink": (0.5, -0.5, 0.0), "HardSwish": (3, -3, 0),
}  # fmt: skip


def _attributes(operator: str, random: Random) -> dict[str, Any]:
    def maybe(low: float, high: float) -> float | None:
        return random.choice([None, round(random.uniform(low, high), 2)])

    if operator == "Celu":
        return {"alpha": random.choice([None, -1.3, 0.4, 2.0])}
    if operator in ("LeakyRelu", "Elu"):
        return {"alpha": maybe(0.01, 2)}
    if operator == "ThresholdedRelu":
        return {"alpha": maybe(0, 2)}
    if operator == "Selu":
        return {"alpha": maybe(0.5, 2), "gamma": maybe(0.5, 2)}
    if operator == "HardSigmoid":
        return {"alpha": maybe(0.1, 1), "beta": maybe(0, 1)}
    if operator == "Shrink":
        return {"lambd": maybe(0, 2), "bias": maybe(-1, 1)}
    if operator == "Gelu":
        return {"approximate": random.choice([None, "none", "tanh"])}
    if operator == "IsInf":
        flags = [None, 0, 1]
        return {name: random.choice(flags) for name in ("detect_negative", "detect_positive")}
    return {}


def unary(operator: str, random: Random) -> Trial:
    opset = opset_of(random, operator)
    dtype = type_of(random, operator, opset)
    is_float = dtype.startswith("float")
    low, high = _RANGES.get(operator, (None, None)) if is_float else (None, None)
    special: Sequence[float] = _SPECIAL.get(operator, (0.0,)) if is_float else ()
    if dtype != "bool" and not is_float:
        special = extremes(dtype)
    x = values(dtype, shape_of(random), low, high, special)
    attributes = _attributes(operator, random)
    return node_trial(random, operator, [either(random, x, 0.05)], opset, **attributes)


_UNARY = """Log Exp Acos Acosh Asin Asinh Atan Atanh Cos Cosh Sin Sinh Tan Tanh Neg Abs Reciprocal
Floor Ceil Round IsInf IsNaN Sqrt Relu Selu Mish LeakyRelu ThresholdedRelu Elu Gelu HardSigmoid
HardSwish Sign Softplus Softsign Shrink Erf Sigmoid Not BitwiseNot Celu""".split()


def binary(operator: str, random: Random) -> Trial:
    opset = opset_of(random, operator)
    dtype = type_of(random, operator, opset)
    is_float, is_bool = dtype.startswith("float"), dtype == "bool"
    shape = shape_of(random)
    shapes = [broadcast_of(random, shape), shape]
    random.shuffle(shapes)
    special: Sequence[float] = () if is_bool else extremes(dtype) if not is_float else WITH_NAN
    operands: list[Varied] = [values(dtype, s, special=special) for s in shapes]
    attributes: dict[str, Any] = {}
    if operator in ("Div", "Mod"):
        low = None if is_float else 1
        if not is_float and dtype.startswith("int") and random.random() < 0.5:
            operands[1] = values(dtype, shapes[1], -9, -2)
        else:
            operands[1] = values(dtype, shapes[1], low, None if is_float else 100)
        operands[0] = values(dtype, shapes[0], special=special if not is_float else ())
    if operator == "Mod":
        attributes["fmod"] = 1 if is_float and opset < 28 else random.choice([None, 0, 1])
        if attributes["fmod"] and dtype in ("int64", "uint64"):
            # onnxruntime divides doubles.
            operands[0] = values(dtype, shapes[0], 0, 2**50)
    if operator == "BitShift":
        attributes["direction"] = random.choice(["LEFT", "RIGHT"])
        outside = opset >= 28
        least = -3 if outside and dtype.startswith("int") else 0
        operands[1] = values(dtype, shapes[1], least, np.iinfo(dtype).bits + (2 if outside else -1))
    if operator == "Pow":
        return _pow(random, opset, dtype, shapes)
    if operator in ("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal") and not is_bool:
        operands = [values(dtype, s, -2, 2, (0, 1, 2)) for s in shapes]
        if is_float:
            operands = [values(dtype, s, special=WITH_NAN) for s in shapes]
    given = [either(random, x, 0.2) for x in operands]
    return node_trial(random, operator, given, opset, **attributes)


def _pow(random: Random, opset: int, dtype: str, shapes: list[list[int]]) -> Trial:
    exponents = dtype if opset < 12 else random.choice([dtype, "float32", "int64", "int32"])
    if dtype.startswith("float"):
        base = values(dtype, shapes[0], 0.1, 3)
        power = values(exponents, shapes[1], -3 if not exponents.startswith("u") else 0, 3)
        if "int" in exponents:
            base = values(dtype, shapes[0], -3, 3)
    else:
        base = values(dtype, shapes[0], -3, 3)
        power = values(exponents, shapes[1], 0, 4)
        if exponents.startswith("float"):
            power = values("int32", shapes[1], 0, 4)
            exponents = "int32"
    return node_trial(random, "Pow", [base, either(random, power, 0.5)], opset)


_BINARY = """Add Sub Mul Div Mod Less LessOrEqual Greater GreaterOrEqual Equal BitwiseAnd BitwiseOr
BitwiseXor BitShift And Or Xor Pow""".split()


def variadic(operator: str, random: Random) -> Trial:
    opset = opset_of(random, operator, oldest=8)
    dtype = type_of(random, operator, opset)
    shape = shape_of(random)
    shapes = [shape, *(broadcast_of(random, shape) for _ in range(random.randint(0, 3)))]
    random.shuffle(shapes)
    special: Sequence[float] = INFINITIES[2:] if dtype.startswith("float") else extremes(dtype)
    operands = [either(random, values(dtype, s, special=special), 0.2) for s in shapes]
    return node_trial(random, operator, operands, opset)


def where(random: Random) -> Trial:
    opset = opset_of(random, "Where")
    dtype = type_of(random, "Where", opset, 1)
    shape = shape_of(random)
    shapes = [broadcast_of(random, shape) for _ in range(3)]
    kinds = ("bool", dtype, dtype)
    operands = [either(random, values(k, s), 0.2) for k, s in zip(kinds, shapes, strict=True)]
    return node_trial(random, "Where", operands, opset)


def prelu(random: Random) -> Trial:
    opset = opset_of(random, "PRelu")
    dtype = type_of(random, "PRelu", opset)
    shape = shape_of(random, 1)
    slope = broadcast_of(random, shape)
    if len(shape) > 2 and random.random() < 0.5:
        slope = [shape[1], *[1] * (len(shape) - 2)]
    if dtype.startswith("float"):
        operands = [values(dtype, shape), either(random, values(dtype, slope), 0.7)]
    else:
        operands = [values(dtype, shape, -99, 99), either(random, values(dtype, slope, -9, 9), 0.7)]
    return node_trial(random, "PRelu", operands, opset)


def clip(random: Random) -> Trial:
    opset = opset_of(random, "Clip")
    dtype = type_of(random, "Clip", opset)
    is_float = dtype.startswith("float")
    # Infinity is no number that a bound which is left out bounds here.
    x = values(dtype, shape_of(random), special=(-1, 0, 4) if is_float else extremes(dtype))
    low = constant(random, dtype, [], -1, 1)
    high = constant(random, dtype, [], -1 if random.random() < 0.1 else 1, 4)
    given = [bound if random.random() < 0.7 else None for bound in (low, high)]
    if opset < 11:
        limits = {
            n: None if b is None else float(b) for n, b in zip(("min", "max"), given, strict=True)
        }
        return node_trial(random, "Clip", [x], opset, **limits)
    bounds = [None if b is None else either(random, values(dtype, [], b, b), 0.7) for b in given]
    while bounds and bounds[-1] is None:
        bounds.pop()
    return node_trial(random, "Clip", [x, *bounds], opset)


_CASTS = """float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool""".split()


def cast(random: Random) -> Trial:
    opset = opset_of(random, "Cast")
    source, target = random.choice(_CASTS), random.choice(_CASTS)
    x = _castable(random, source, target)
    to = helper.np_dtype_to_tensor_dtype(np.dtype(target))
    return node_trial(random, "Cast", [either(random, x, 0.1)], opset, to=to)


def _castable(random: Random, source: str, target: str) -> Varied:
    """Integers of the whole range, floats that the target has."""
    if source == "bool":
        return values("bool", shape_of(random))
    if not source.startswith("float"):
        return values(source, shape_of(random), special=extremes(source))
    if "int" not in target:
        return values(source, shape_of(random), special=WITH_NAN)
    info = np.iinfo(target)
    low, high = max(info.min, -(2**31)), min(info.max, 2**31 - 1)
    return values(source, shape_of(random), low * 0.9, high * 0.9, [0, *HALVES[::2], 1.0])


def cast_like(random: Random) -> Trial:
    opset = opset_of(random, "CastLike")
    source, target = random.choice(_CASTS), random.choice(_CASTS)
    like = either(random, values(target, shape_of(random)), 0.5)
    return node_trial(random, "CastLike", [_castable(random, source, target), like], opset)


def fast_gelu(random: Random) -> Trial:
    shape = shape_of(random, 1)
    operands = [values("float32", shape)]
    if random.random() < 0.5:
        operands.append(either(random, values("float32", shape[-1:]), 0.7))
    return node_trial(random, "FastGelu", operands, 17, domain=MICROSOFT)


def bias_gelu(random: Random) -> Trial:
    shape = shape_of(random, 1)
    operands = [values("float32", shape), either(random, values("float32", shape[-1:]), 0.7)]
    return node_trial(random, "BiasGelu", operands, 17, domain=MICROSOFT)


def microsoft_gelu(random: Random) -> Trial:
    return node_trial(random, "Gelu", [values("float32", shape_of(random))], 17, domain=MICROSOFT)


def bit_cast(random: Random) -> Trial:
    """From any type to another of the same size; bits of random numbers are no NaN mostly."""
    opset = opset_of(random, "BitCast")
    size = random.choice([1, 2, 4, 8])
    types = [name for name in _WITH_BITS if np.dtype(name).itemsize == size]
    source, target = random.choice(types), random.choice(types)
    to = helper.np_dtype_to_tensor_dtype(np.dtype(target))
    x = values(source, shape_of(random), special=[1, 3])
    return node_trial(random, "BitCast", [x], opset, to=to)


_WITH_BITS = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64".split()

GENERATORS: Mapping[str, Generator] = {
    **{operator: partial(unary, operator) for operator in _UNARY},
    **{operator: partial(binary, operator) for operator in _BINARY},
    **{operator: partial(variadic, operator) for operator in ("Sum", "Min", "Max", "Mean")},
    "Where": where,
    "PRelu": prelu,
    "Clip": clip,
    "Cast": cast,
    "CastLike": cast_like,
    f"{MICROSOFT}.FastGelu": fast_gelu,
    f"{MICROSOFT}.BiasGelu": bias_gelu,
    f"{MICROSOFT}.Gelu": microsoft_gelu,
    "BitCast": bit_cast,
}
