"""Converters of element-wise functions of one tensor."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import (
    CONVERTERS,
    Converter,
    Operator,
    cast,
    constant,
    converts,
)
from usmp.ops.emit import dtype_of
from usmp.ops.real import c_functions
from usmp.ops.real.order import is_nan
from usmp.tir.dtypes import is_float

Function = Callable[[Expr], Expr]


def _of_floats(function: Function) -> Converter:
    """Return the converter of a function of floats, to which integers are converted first."""

    def convert(operator: Operator) -> Expr:
        return function(operator.emit(cast(operator["self"], operator.dtype)))

    return convert


def _unless_integers(function: Function) -> Converter:
    """Return the converter of a function that does not change integers."""

    def convert(operator: Operator) -> Expr:
        data = operator["self"]
        return function(data) if is_float(dtype_of(data)) else data

    return convert


def call_c(operator: Operator, function: str, *arguments: Expr) -> Expr:
    """Apply a function of <math.h>, named without the suffix of its type, to each element."""
    if operator.dtype not in c_functions.SUFFIXES:
        raise operator.refusal(
            f"of {operator.dtype} is not supported; convert it to float32 before"
        )
    return c_functions.call_c(operator.builder, function, *arguments)


def _in_c(function: str) -> Converter:
    def convert(operator: Operator) -> Expr:
        return call_c(operator, function, operator.emit(cast(operator["self"], operator.dtype)))

    return convert


for _name, _function in {
    "acos": relax.op.acos,
    "asin": relax.op.asin,
    "atan": relax.op.atan,
    "cos": relax.op.cos,
    "cosh": relax.op.cosh,
    "erf": relax.op.erf,
    "exp": relax.op.exp,
    "log": relax.op.log,
    "rsqrt": relax.op.rsqrt,
    "sigmoid": relax.op.sigmoid,
    "sin": relax.op.sin,
    "sinh": relax.op.sinh,
    "sqrt": relax.op.sqrt,
    "tan": relax.op.tan,
    "tanh": relax.op.tanh,
}.items():
    CONVERTERS[f"{_name}.default"] = _of_floats(_function)

for _name in ("acosh", "asinh", "atanh", "erfc", "exp2", "expm1", "log10", "log1p", "log2"):
    CONVERTERS[f"{_name}.default"] = _in_c(_name)

for _name, _function in {
    "ceil": relax.op.ceil,
    "floor": relax.op.floor,
    "round": relax.op.round,
    "trunc": relax.op.trunc,
}.items():
    CONVERTERS[f"{_name}.default"] = _unless_integers(_function)


@converts("abs.default")
def _abs(operator: Operator) -> Expr:
    data = operator["self"]
    return data if dtype_of(data).startswith(("uint", "bool")) else relax.op.abs(data)


@converts("neg.default")
def _neg(operator: Operator) -> Expr:
    data = operator["self"]
    if dtype_of(data).startswith("uint"):
        return relax.op.subtract(constant(0, dtype_of(data)), data)
    return relax.op.negative(data)


@converts("sign.default")
def _sign(operator: Operator) -> Expr:
    """Convert `sign`, which is 0 for NaN as in PyTorch."""
    data = operator["self"]
    if dtype_of(data) == "bool":
        return data
    if dtype_of(data).startswith("uint"):
        is_positive = operator.emit(relax.op.greater(data, constant(0, dtype_of(data))))
        return cast(is_positive, dtype_of(data))
    return relax.op.sign(data)


@converts("bitwise_not.default")
def _bitwise_not(operator: Operator) -> Expr:
    data = operator["self"]
    return relax.op.logical_not(data) if dtype_of(data) == "bool" else relax.op.bitwise_not(data)


@converts("logical_not.default")
def _logical_not(operator: Operator) -> Expr:
    return relax.op.logical_not(operator.emit(cast(operator["self"], "bool")))


@converts("isnan.default")
def _isnan(operator: Operator) -> Expr:
    return is_nan(operator["self"])


@converts("isinf.default")
def _isinf(operator: Operator) -> Expr:
    data = operator["self"]
    if not is_float(dtype_of(data)):
        return is_nan(data)
    return relax.op.equal(relax.op.abs(data), constant(float("inf"), dtype_of(data)))


@converts("reciprocal.default")
def _reciprocal(operator: Operator) -> Expr:
    data = cast(operator["self"], operator.dtype)
    return relax.op.divide(constant(1, operator.dtype), data)


@converts("round.decimals")
def _round_decimals(operator: Operator) -> Expr:
    data, decimals = operator["self"], operator["decimals"]
    if not is_float(dtype_of(data)):
        raise operator.refusal("of integers is not supported; convert them to float32 before")
    if decimals == 0:
        return relax.op.round(data)
    scale = constant(10.0 ** abs(decimals), dtype_of(data))
    if decimals > 0:
        return relax.op.divide(relax.op.round(relax.op.multiply(data, scale)), scale)
    return relax.op.multiply(relax.op.round(relax.op.divide(data, scale)), scale)
