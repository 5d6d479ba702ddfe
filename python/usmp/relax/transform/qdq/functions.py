"""Scalar functions of Relax operators."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from tvm.ir import Call

from usmp.relax.transform.qdq.commuting import limits_of

Function = Callable[[float], float]


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def _divide(a: float, b: float) -> float:
    # As in float arithmetic; dequantized integers are never -0.
    return a / b if b else math.copysign(math.inf, a) if a else math.nan


def _gelu_tanh(x: float) -> float:
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


_FUNCTIONS: dict[str, Function] = {
    "relax.sigmoid": _sigmoid,
    "relax.tanh": math.tanh,
    "relax.exp": _exp,
    "relax.log": lambda x: math.log(x) if x > 0 else -math.inf if x == 0 else math.nan,
    "relax.sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan,
    "relax.rsqrt": lambda x: _divide(1.0, math.sqrt(x)) if x >= 0 else math.nan,
    "relax.square": lambda x: x * x,
    "relax.abs": abs,
    "relax.negative": lambda x: -x,
    "relax.sin": math.sin,
    "relax.cos": math.cos,
    "relax.erf": math.erf,
    "relax.nn.silu": lambda x: x * _sigmoid(x),
    "relax.nn.gelu": lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))),
    "relax.nn.gelu_tanh": _gelu_tanh,
}

COMBINATIONS: dict[str, Callable[..., float]] = {
    "relax.add": lambda a, b: a + b,
    "relax.subtract": lambda a, b: a - b,
    "relax.multiply": lambda a, b: a * b,
    "relax.divide": _divide,
    "relax.power": math.pow,
    "relax.maximum": max,
    "relax.minimum": min,
    "relax.greater": operator.gt,
    "relax.greater_equal": operator.ge,
    "relax.less": operator.lt,
    "relax.less_equal": operator.le,
    "relax.where": lambda condition, a, b: a if condition else b,
}
"""Operator name -> its function of several numbers."""


_CLAMPS = ("relax.nn.relu", "relax.nn.relu6", "relax.clip")
_WITH_ATTRIBUTES = ("relax.nn.leakyrelu", "relax.nn.softplus")


def is_element_wise(call: Call) -> bool:
    """Return whether an operator applies a function to each element of its first argument."""
    name = call.op.name
    return name in _FUNCTIONS or name in _CLAMPS or name in _WITH_ATTRIBUTES


def function_of(call: Call) -> Function | None:
    """Return the function that an operator applies to each element, or None if it is not known."""
    name = call.op.name
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    if name in _CLAMPS:
        limits = limits_of(call)
        return None if limits is None else lambda x: min(max(x, limits[0]), limits[1])
    if name == "relax.nn.leakyrelu":
        alpha = float(call.attrs.alpha)
        return lambda x: x if x > 0 else alpha * x
    if name == "relax.nn.softplus" and float(call.attrs.beta) == 1.0:
        return _softplus
    return None
