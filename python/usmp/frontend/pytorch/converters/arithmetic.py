"""Functions of the elements of two tensors, or of a tensor and a number."""

from __future__ import annotations

from collections.abc import Callable

import torch
from tvm import relax
from tvm.ir import Expr, GenericConst

from usmp.frontend.pytorch.converters.elementwise import is_nan
from usmp.frontend.pytorch.converters.operator import (
    CONVERTERS,
    Converter,
    Operator,
    cast,
    constant,
    converts,
    dtype_of,
    is_float,
    name_of,
    rank_of,
)

Function = Callable[[Expr, Expr], Expr]
_OVERLOADS = ("Tensor", "Scalar")


def _operands(operator: Operator, dtype: str) -> tuple[Expr, Expr]:
    """Both in one type."""
    a, b = (cast(operator[name], dtype) for name in ("self", "other"))
    return tuple(e if isinstance(e, GenericConst) else operator.emit(e) for e in (a, b))


def _divided(operator: Operator) -> tuple[Expr, Expr]:
    """A dividend and its divisor, in the type of the result.

    Raises
    ------
    UnsupportedModelError
        integers are divided by the number 0, or by a constant with a 0 in it.
    """
    divisor = operator["other"]
    if isinstance(divisor, GenericConst):
        has_zero = not divisor.value.numpy().all()
    else:
        has_zero = not isinstance(divisor, Expr) and divisor == 0
    if has_zero and not is_float(operator.dtype):
        raise operator.refusal(
            f"divides {operator.dtype} elements by 0, for which PyTorch raises an error; take "
            "another number, or divide floats"
        )
    return _operands(operator, operator.dtype)


def _common_type(operator: Operator) -> str:
    """The type in which PyTorch compares two operands."""
    return name_of(torch.result_type(operator.meta("self"), operator.meta("other")))


def _times(operator: Operator, tensor: Expr, factor: float) -> Expr:
    if factor == 1:
        return tensor
    dtype = dtype_of(tensor)
    return operator.emit(_product(tensor, constant(factor, dtype)))


def _product(a: Expr, b: Expr) -> Expr:
    if dtype_of(a) == "bool":
        return relax.op.logical_and(a, b)
    for factor, other in ((a, b), (b, a)):
        is_zero = isinstance(factor, GenericConst) and not factor.value.numpy().any()
        if is_zero and not rank_of(factor) and is_float(dtype_of(a)):
            # Of infinity, or what is not a number, the latter; TVM would take it for 0.
            return relax.op.subtract(other, other)
    return relax.op.multiply(a, b)


@converts("add.Tensor", "add.Scalar")
def _add(operator: Operator) -> Expr:
    a, b = _operands(operator, operator.dtype)
    add = relax.op.logical_or if operator.dtype == "bool" else relax.op.add
    return add(a, _times(operator, b, operator["alpha"]))


@converts("sub.Tensor", "sub.Scalar")
def _subtract(operator: Operator) -> Expr:
    a, b = _operands(operator, operator.dtype)
    return relax.op.subtract(a, _times(operator, b, operator["alpha"]))


@converts("mul.Tensor", "mul.Scalar")
def _multiply(operator: Operator) -> Expr:
    return _product(*_operands(operator, operator.dtype))


@converts("div.Tensor", "div.Scalar")
def _divide(operator: Operator) -> Expr:
    return relax.op.divide(*_operands(operator, operator.dtype))


@converts("div.Tensor_mode", "div.Scalar_mode")
def _divide_and_round(operator: Operator) -> Expr:
    a, b = _divided(operator)
    mode = operator["rounding_mode"]
    if mode is None:
        return relax.op.divide(a, b)
    if not is_float(operator.dtype):
        # Relax divides integers as C does.
        return relax.op.floor_divide(a, b) if mode == "floor" else relax.op.divide(a, b)
    if mode == "trunc":
        return relax.op.trunc(relax.op.divide(a, b))
    return _floor_divide_floats(operator, a, b)


def _floor_divide_floats(operator: Operator, a: Expr, b: Expr) -> Expr:
    """The largest integer that is not above the exact quotient: `floor(a / b)` is another one where
    the quotient is rounded up to an integer, as 1.0 / 0.1 is."""
    dtype = operator.dtype
    zero, one = constant(0, dtype), constant(1, dtype)
    rest = operator.emit(relax.op.mod(a, b))
    quotient = relax.op.divide(relax.op.subtract(a, rest), b)
    exact = relax.op.where(_is_other_side(rest, b), relax.op.subtract(quotient, one), quotient)
    exact = operator.emit(exact)
    lower = operator.emit(relax.op.floor(exact))
    far = relax.op.greater(relax.op.subtract(exact, lower), constant(0.5, dtype))
    nearest = relax.op.where(far, relax.op.add(lower, one), lower)
    return relax.op.where(relax.op.equal(b, zero), relax.op.divide(a, b), nearest)


def _is_other_side(rest: Expr, b: Expr) -> Expr:
    """Whether a remainder is not 0 and of the other sign than the divisor."""
    zero = constant(0, dtype_of(rest))
    differ = relax.op.not_equal(relax.op.less(rest, zero), relax.op.less(b, zero))
    return relax.op.logical_and(relax.op.not_equal(rest, zero), differ)


@converts("remainder.Tensor", "remainder.Scalar")
def _remainder(operator: Operator) -> Expr:
    a, b = _divided(operator)
    if not is_float(operator.dtype):
        return relax.op.floor_mod(a, b)
    rest = operator.emit(relax.op.mod(a, b))
    return relax.op.where(_is_other_side(rest, b), relax.op.add(rest, b), rest)


@converts("fmod.Tensor", "fmod.Scalar")
def _fmod(operator: Operator) -> Expr:
    return relax.op.mod(*_divided(operator))


@converts("pow.Tensor_Tensor", "pow.Scalar")
def _power(operator: Operator) -> Expr:
    if not is_float(operator.dtype):
        raise operator.refusal(
            "with integers is not supported, unless the exponent is a number; convert them to "
            "float32 before"
        )
    base, exponent = (cast(operator[name], operator.dtype) for name in ("self", "exponent"))
    return relax.op.power(base, exponent)


@converts("pow.Tensor_Scalar")
def _power_of_number(operator: Operator) -> Expr:
    dtype, exponent = operator.dtype, operator["exponent"]
    base = operator.emit(cast(operator["self"], dtype))
    if exponent == 2 and dtype != "bool":
        return relax.op.multiply(base, base)
    if is_float(dtype):
        return relax.op.power(base, constant(exponent, dtype))
    if not 0 <= exponent <= _GREATEST_POWER or dtype == "bool":
        raise operator.refusal(
            f"of integers with exponent {exponent} is not supported; convert them to float32 before"
        )
    result = relax.op.ones_like(base)
    for _ in range(exponent):
        result = operator.emit(relax.op.multiply(result, base))
    return result


_GREATEST_POWER = 64
"""A product of as many factors is written out."""


@converts("atan2.default")
def _atan2(operator: Operator) -> Expr:
    return relax.op.atan2(*_operands(operator, operator.dtype))


def _comparison(function: Function) -> Converter:
    def convert(operator: Operator) -> Expr:
        dtype = _common_type(operator)
        # Relax orders no booleans.
        a, b = _operands(operator, "int8" if dtype == "bool" else dtype)
        result = function(a, b)
        if not is_float(dtype) or isinstance(b, GenericConst) or function in _OF_DIFFERENT:
            return result
        # TVM takes everything for equal to itself, and so what is not a number.
        is_other = operator.emit(is_nan(a))
        if function is relax.op.not_equal:
            return relax.op.logical_or(result, is_other)
        return relax.op.logical_and(result, relax.op.logical_not(is_other))

    return convert


_OF_DIFFERENT = (relax.op.greater, relax.op.less)
"""Comparisons that nothing fulfils with itself."""


def _logical(function: Function) -> Converter:
    def convert(operator: Operator) -> Expr:
        return function(*_operands(operator, "bool"))

    return convert


def _bitwise(function: Function, logical: Function) -> Converter:
    def convert(operator: Operator) -> Expr:
        chosen = logical if operator.dtype == "bool" else function
        return chosen(*_operands(operator, operator.dtype))

    return convert


for _name, _function in {
    "eq": relax.op.equal,
    "ge": relax.op.greater_equal,
    "gt": relax.op.greater,
    "le": relax.op.less_equal,
    "lt": relax.op.less,
    "ne": relax.op.not_equal,
}.items():
    for _overload in _OVERLOADS:
        CONVERTERS[f"{_name}.{_overload}"] = _comparison(_function)

for _name, _function, _of_booleans in (
    ("and", relax.op.bitwise_and, relax.op.logical_and),
    ("or", relax.op.bitwise_or, relax.op.logical_or),
    ("xor", relax.op.bitwise_xor, relax.op.logical_xor),
):
    CONVERTERS[f"logical_{_name}.default"] = _logical(_of_booleans)
    for _overload in _OVERLOADS:
        CONVERTERS[f"bitwise_{_name}.{_overload}"] = _bitwise(_function, _of_booleans)


@converts("where.self")
def _where(operator: Operator) -> Expr:
    chosen = (cast(operator[name], operator.dtype) for name in ("self", "other"))
    return relax.op.where(cast(operator["condition"], "bool"), *chosen)
