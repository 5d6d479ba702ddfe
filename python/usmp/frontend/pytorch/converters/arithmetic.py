"""Converters of element-wise functions of two tensors, or of a tensor and a number."""

from __future__ import annotations

from collections.abc import Callable

import torch
from tvm import relax
from tvm.ir import Expr, GenericConst

from usmp.frontend.pytorch.converters.operator import (
    CONVERTERS,
    Converter,
    Operator,
    cast,
    constant,
    converts,
    name_of,
)
from usmp.ops.emit import dtype_of
from usmp.ops.real.division import floor_divide, floor_mod
from usmp.tir.dtypes import is_float

Function = Callable[[Expr, Expr], Expr]
_OVERLOADS = ("Tensor", "Scalar")


def _operands(operator: Operator, dtype: str) -> tuple[Expr, Expr]:
    """Return both operands in one element type."""
    a, b = (cast(operator[name], dtype) for name in ("self", "other"))
    return tuple(e if isinstance(e, GenericConst) else operator.emit(e) for e in (a, b))


def _division_operands(operator: Operator) -> tuple[Expr, Expr]:
    """Return a dividend and its divisor, in the type of the result.

    Raises
    ------
    UnsupportedModelError
        integers are divided by 0, or by a constant that contains a 0.
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
    """Return the type in which PyTorch compares two operands."""
    return name_of(torch.result_type(operator.meta("self"), operator.meta("other")))


def _scaled(operator: Operator, tensor: Expr, factor: float) -> Expr:
    if factor == 1:
        return tensor
    dtype = dtype_of(tensor)
    return operator.emit(_product(tensor, constant(factor, dtype)))


def _product(a: Expr, b: Expr) -> Expr:
    if dtype_of(a) == "bool":
        return relax.op.logical_and(a, b)
    return relax.op.multiply(a, b)


@converts("add.Tensor", "add.Scalar")
def _add(operator: Operator) -> Expr:
    a, b = _operands(operator, operator.dtype)
    add = relax.op.logical_or if operator.dtype == "bool" else relax.op.add
    return add(a, _scaled(operator, b, operator["alpha"]))


@converts("sub.Tensor", "sub.Scalar")
def _subtract(operator: Operator) -> Expr:
    a, b = _operands(operator, operator.dtype)
    return relax.op.subtract(a, _scaled(operator, b, operator["alpha"]))


@converts("mul.Tensor", "mul.Scalar")
def _multiply(operator: Operator) -> Expr:
    return _product(*_operands(operator, operator.dtype))


@converts("div.Tensor", "div.Scalar")
def _divide(operator: Operator) -> Expr:
    return relax.op.divide(*_operands(operator, operator.dtype))


@converts("div.Tensor_mode", "div.Scalar_mode")
def _divide_and_round(operator: Operator) -> Expr:
    a, b = _division_operands(operator)
    mode = operator["rounding_mode"]
    if mode is None:
        return relax.op.divide(a, b)
    if mode == "floor":
        return floor_divide(operator.builder, a, b)
    quotient = relax.op.divide(a, b)
    # Relax divides integers as C does, which already truncates.
    return relax.op.trunc(quotient) if is_float(operator.dtype) else quotient


@converts("remainder.Tensor", "remainder.Scalar")
def _remainder(operator: Operator) -> Expr:
    return floor_mod(operator.builder, *_division_operands(operator))


@converts("fmod.Tensor", "fmod.Scalar")
def _fmod(operator: Operator) -> Expr:
    return relax.op.mod(*_division_operands(operator))


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
"""The largest exponent of an integer power, which becomes a chain of products."""


@converts("atan2.default")
def _atan2(operator: Operator) -> Expr:
    return relax.op.atan2(*_operands(operator, operator.dtype))


def _comparison(function: Function) -> Converter:
    def convert(operator: Operator) -> Expr:
        dtype = _common_type(operator)
        # Relax cannot compare the order of booleans.
        a, b = _operands(operator, "int8" if dtype == "bool" else dtype)
        return function(a, b)

    return convert


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
