"""Quantized operators that fewer models use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from support.tflite_builder import options

from .activations import function
from .arithmetic import Binary, binary, constants, int16_cases, scaled
from .model import (
    ACTIVATIONS,
    Constant,
    Oracle,
    QuantizedModel,
    Spec,
    generator_of,
    int32,
    models,
    one_operator,
    random_constant,
    scalar,
)

X = Spec((1, 4, 5, 3), 0.05, -7)
X16 = Spec((1, 4, 5, 3), 0.0003, 0, "int16")
X32 = Spec((1, 4, 5, 3), 0, 0, "int32")
BOOL = Spec((1, 4, 5, 3), 0, 0, "bool")
FLOAT = Spec((1, 4, 5, 3), 0, 0, "float32")
LOG_SOFTMAX = (16 / 256, 127)


def arg(code: str, x: Spec, axis: int, y_type: str = "int32") -> bytes:
    """One ARG_MAX or ARG_MIN."""
    shape = np.empty(x.shape, np.int8).take(0, axis).shape
    table = options(
        {"ARG_MAX": "ArgMaxOptions", "ARG_MIN": "ArgMinOptions"}[code],
        output_type={"int32": 2, "int64": 4}[y_type],
    )
    return one_operator(code, [x, scalar(axis)], [Spec(shape, 0, 0, y_type)], table)


def comparison(code: str, case: Binary) -> bytes:
    """One operator of two inputs that gives bool."""
    y = Spec(np.broadcast_shapes(case.a.shape, case.b.shape), 0, 0, "bool")
    return one_operator(code, case.inputs(), [y])


def prelu(x: Spec, alpha: Spec, y: Spec) -> bytes:
    """One PRELU with constant slopes."""
    return one_operator("PRELU", [x, random_constant(alpha)], [y])


def batch_matmul(
    a: Spec, b: Spec, y: Spec, adjoint: tuple[bool, bool] = (False, False), constant: bool = False
) -> bytes:
    """One BATCH_MATMUL."""
    table = options("BatchMatMulOptions", adj_x=adjoint[0], adj_y=adjoint[1])
    second = random_constant(b) if constant else b
    return one_operator("BATCH_MATMUL", [a, second], [y], table)


def cast(x: Spec, y_type: str) -> bytes:
    """One CAST; it takes the numbers as they are stored."""
    return one_operator("CAST", [x], [Spec(x.shape, 0, 0, y_type)])


def select(condition: Spec, a: Spec, b: Spec) -> bytes:
    """One SELECT_V2."""
    shape = np.broadcast_shapes(condition.shape, a.shape, b.shape)
    return one_operator("SELECT_V2", [condition, a, b], [a(*shape)], options("SelectV2Options"))


def reverse(x: Spec, axis: int) -> bytes:
    """One REVERSE_V2."""
    return one_operator("REVERSE_V2", [x, int32(axis)], [x], options("ReverseV2Options"))


def broadcast_to(x: Spec, *shape: int) -> bytes:
    """One BROADCAST_TO."""
    return one_operator("BROADCAST_TO", [x, int32(*shape)], [x(*shape)])


def add_n(x: Spec, count: int, y: Spec) -> bytes:
    """One ADD_N."""
    return one_operator("ADD_N", [x] * count, [y], options("AddNOptions"))


def cumsum(x: Spec, axis: int, y: Spec, exclusive: bool, backwards: bool) -> bytes:
    """One CUMSUM."""
    table = options("CumsumOptions", exclusive=exclusive, reverse=backwards)
    return one_operator("CUMSUM", [x, scalar(axis)], [y], table)


def l2_normalization(x: Spec) -> bytes:
    """One L2_NORMALIZATION over the last axis."""
    table = options("L2NormOptions", fused_activation_function=0)
    return one_operator("L2_NORMALIZATION", [x], [Spec(x.shape, 1 / 128, 0)], table)


def division(case: Binary) -> bytes:
    """One DIV by constants that are not zero."""
    low, high = sorted((case.b.zero_point + 5, 127))
    data = generator_of(case).integers(low, high, case.b.shape, np.int8, endpoint=True)
    divisor = Constant(data, case.b.quantization)
    table = options("DivOptions", fused_activation_function=ACTIVATIONS[case.activation])
    return one_operator("DIV", [case.a, divisor], [case.y], table)


def gelu(approximate: bool) -> bytes:
    """One GELU."""
    table = options("GeluOptions", approximate=approximate)
    return one_operator("GELU", [X], [Spec(X.shape, 0.04, -90)], table)


def gather_nd(x: Spec, positions: list) -> bytes:
    """One GATHER_ND."""
    indices = np.array(positions, np.int32)
    y = np.empty(x.shape, np.int8)[tuple(np.moveaxis(indices, -1, 0))]
    return one_operator("GATHER_ND", [x, Constant(indices)], [x(*y.shape)])


ARGS = {
    "last": (X, 3),
    "height": (X, 1),
    "negative_axis": (X, -1),
    "matrix": (X(5, 9), 1),
    "vector": (X(17), 0),
}
COMPARISONS = {
    "same_quantization": Binary(X, X),
    "other_quantization": Binary(X, Spec(X.shape, 0.1, 12)),
    "broadcast": Binary(X, Spec((3,), 0.03, 40)),
    "constant": Binary(X, Spec((), 0.05, -7), constant="second"),
}
PRELUS = {
    "channels": (X, Spec((1, 1, 3), 0.005, 0), Spec(X.shape, 0.05, -20)),
    "whole": (X, Spec((4, 5, 3), 0.005, 3), Spec(X.shape, 0.06, 9)),
    "slopes_above_one": (X, Spec((1, 1, 3), 0.02, -10), Spec(X.shape, 0.09, 9)),
    "lowest": (Spec(X.shape, 0.05, 100), Spec((1, 1, 3), 0.01, 0), Spec(X.shape, 0.08, 5)),
}
_Y = Spec((2, 3, 5), 0.9, 4)
MATMULS = {
    "plain": (Spec((2, 3, 4), 0.05, -7), Spec((2, 4, 5), 0.06, 10), _Y),
    "adjoint_second": (
        Spec((2, 3, 4), 0.05, -7),
        Spec((2, 5, 4), 0.06, 10),
        _Y,
        (False, True),
    ),
    "adjoint_first": (Spec((2, 4, 3), 0.05, 5), Spec((2, 4, 5), 0.06, 10), _Y, (True, False)),
    "adjoint_both": (Spec((2, 4, 3), 0.05, 5), Spec((2, 5, 4), 0.06, 0), _Y, (True, True)),
    "broadcast": (Spec((2, 3, 4), 0.05, 0), Spec((1, 4, 5), 0.06, 0), _Y),
    "four_axes": (
        Spec((1, 2, 3, 4), 0.05, -128),
        Spec((1, 2, 4, 5), 0.06, 10),
        Spec((1, 2, 3, 5), 2.0, 4),
    ),
    "matrices": (Spec((3, 7), 0.05, 9), Spec((7, 2), 0.06, 0), Spec((3, 2), 0.9, 4)),
    "constant": (
        Spec((2, 3, 4), 0.05, -7),
        Spec((2, 4, 5), 0.06, 0),
        _Y,
        (False, False),
        True,
    ),
    "int16": (
        Spec((2, 3, 4), 0.0003, 0, "int16"),
        Spec((2, 4, 5), 0.0003, 0, "int16"),
        Spec((2, 3, 5), 0.003, 0, "int16"),
    ),
}
CASTS = {
    "int8_to_float": (X, "float32"),
    "int8_to_int32": (X, "int32"),
    "int8_to_int16": (X, "int16"),
    "int16_to_int8": (X16, "int8"),
    "int32_to_float": (X32, "float32"),
    "int32_to_int8": (X32, "int8"),
    "int32_to_int16": (X32, "int16"),
    "float_to_int32": (FLOAT, "int32"),
    "int8_to_bool": (X, "bool"),
    "bool_to_int8": (BOOL, "int8"),
    "bool_to_float": (BOOL, "float32"),
}
SELECTS = {
    "same_shape": (BOOL, X, X),
    "scalar_branch": (BOOL, X, X()),
    "broadcast": (BOOL(1, 4, 5, 1), X, X(3)),
    "scalar_condition": (BOOL(), X, X),
}
REVERSALS = {"first": (X(5, 3), 0), "last": (X, 3), "middle": (X, 2), "int16": (X16, 1)}
BROADCASTS = {
    "channels": (X(3), 1, 4, 5, 3),
    "rows": (X(4, 1), 4, 6),
    "number": (X(1), 2, 3),
}
CUMULATIVE = {
    "last": (X, 3, Spec(X.shape, 0.1, 5), False, False),
    "exclusive": (X, 1, Spec(X.shape, 0.1, 5), True, False),
    "backwards": (X, 2, Spec(X.shape, 0.12, 5), False, True),
    "both": (X(4, 6), 1, Spec((4, 6), 0.12, 5), True, True),
}
NORMALIZATIONS = {
    "image": (X,),
    "matrix": (X(4, 16),),
    "lowest_zero_point": (Spec((3, 8), 0.05, -128),),
}
DIVISIONS = {
    "same_shape": scaled((0.05, 0.04, 0.02), (-7, 20, 3)),
    "channels": Binary(b=Spec((3,), 0.07, 20), y=Spec(X.shape, 0.02, 4)),
    "relu": Binary(b=Spec((3,), 0.07, 20), y=Spec(X.shape, 0.02, -90), activation="RELU"),
}
SAME = {
    "same_quantization": ((0.05, -7), (0.05, -7)),
    "other_quantization": ((0.05, -7), (0.04, 12)),
    "lowest_zero_points": ((0.05, -128), (0.05, -128)),
}
SQUARES = {
    "same_shape": replace(Binary(), y=Spec(X.shape, 0.6, -128)),
    "broadcast": replace(Binary(), y=Spec(X.shape, 0.6, -128)).with_shapes(X.shape, (3,), X.shape),
    "constant": replace(constants(Binary())["constant_second"], y=Spec(X.shape, 0.6, -128)),
    "int16": int16_cases(scaled((0.0003, 0.0003, 0.006), (0, 0, 0)))["int16"],
}
GATHERS_ND = {
    "rows": (X(5, 4), [[3], [0], [3]]),
    "elements": (X(5, 4), [[3, 1], [0, 2]]),
    "image": (X(2, 4, 5, 3), [[[1, 3]], [[0, 2]]]),
}
LOGICAL = Binary(BOOL, BOOL)


def _coded(
    code: str, make: Callable[..., bytes], cases: dict[str, object], oracle: Oracle = "micro"
) -> list[QuantizedModel]:
    arguments = {
        label: (code, *case) if isinstance(case, tuple) else (code, case)
        for label, case in cases.items()
    }
    return models(code.lower(), make, arguments, oracle)


MODELS: list[QuantizedModel] = [
    *_coded("ARG_MAX", arg, ARGS),
    *_coded("ARG_MIN", arg, ARGS),
    *[
        model
        for code in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
        for model in _coded(code, comparison, COMPARISONS)
    ],
    *_coded("LOGICAL_AND", comparison, {"same_shape": LOGICAL}),
    *_coded("LOGICAL_OR", comparison, {"same_shape": LOGICAL}),
    *_coded("LOGICAL_NOT", lambda code: one_operator(code, [BOOL], [BOOL]), {"image": ()}),
    *models("prelu", prelu, PRELUS),
    *models("batch_matmul", batch_matmul, MATMULS),
    *models("cast", cast, CASTS),
    *models("select_v2", select, SELECTS),
    *models("reverse_v2", reverse, REVERSALS),
    *models("broadcast_to", broadcast_to, BROADCASTS),
    *models("add_n", add_n, {"three": (X, 3, Spec(X.shape, 0.1, 5)), "two": (X, 2, X)}),
    *models("cumsum", cumsum, CUMULATIVE),
    *models("l2_normalization", l2_normalization, NORMALIZATIONS),
    *models("div", division, DIVISIONS),
    *models("gather_nd", gather_nd, GATHERS_ND),
    *_coded("ABS", function, SAME),
    *_coded("ELU", function, SAME | {"narrow": ((0.02, 0), (0.015, -40))}),
    *_coded("EXP", function, {"image": ((0.02, -7), (0.05, -128))}, "litert"),
    *_coded("LOG", function, {"image": ((0.05, -100), (0.03, 20))}, "litert"),
    *_coded("RSQRT", function, {"image": ((0.05, -128), (0.05, -128))}),
    *models("gelu", gelu, {"exact": False, "approximate": True}, "litert"),
    *_coded("LOG_SOFTMAX", function, {"image": ((0.05, -7), LOG_SOFTMAX)}),
    *_coded("SQUARED_DIFFERENCE", binary, SQUARES),
]
