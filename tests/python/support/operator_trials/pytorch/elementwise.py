"""Cases of functions of each element."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch
from torch.nn import functional as F

from support.operator_trials.pytorch.case import (
    CASES,
    FLOAT,
    INTEGERS,
    TYPES,
    Case,
    any_shape,
    broadcast_pair,
    makes,
    positive,
    tensor,
)
from support.operator_trials.trial import Tolerance

_DOMAINS = {"acos": (-1, 1), "asin": (-1, 1), "atanh": (-0.99, 0.99), "acosh": (1, 9)}
_POSITIVE = ("log", "log2", "log10", "rsqrt", "sqrt")


def _unary(function: Callable[[Any], Any], types: tuple[torch.dtype, ...], name: str) -> Any:
    def make(random: Random) -> Case:
        dtype, shape = random.choice(types), any_shape(random)
        low, high = _DOMAINS.get(name, (None, None))
        special = random.random() < 0.3 and name not in _DOMAINS
        values = tensor(random, shape, dtype, low, high, special)
        if name in _POSITIVE:
            values = positive(values)
        if name in ("log1p", "tan") and dtype == FLOAT:
            values = values.abs() / 4
        if name in ("exp", "exp2", "expm1", "cosh", "sinh") and not dtype.is_floating_point:
            values = (values // 32).to(dtype)
        return Case(function, [values], name)

    return make


for _name in (
    "acos acosh asin asinh atan atanh cos cosh erf erfc exp exp2 expm1 log log10 log1p log2 "
    "reciprocal rsqrt sigmoid sin sinh sqrt tan tanh"
).split():
    CASES[f"{_name}.default"] = _unary(getattr(torch, _name), TYPES, _name)

for _name in ("sign", "isnan", "isinf", "logical_not"):
    CASES[f"{_name}.default"] = _unary(getattr(torch, _name), TYPES, _name)

for _name in ("abs", "ceil", "floor", "round", "trunc", "neg"):
    CASES[f"{_name}.default"] = _unary(getattr(torch, _name), (FLOAT, FLOAT, *INTEGERS), _name)

CASES["bitwise_not.default"] = _unary(torch.bitwise_not, (*INTEGERS, torch.bool), "bitwise_not")
CASES["relu.default"] = _unary(torch.relu, (FLOAT, FLOAT, *INTEGERS), "relu")


@makes("round.decimals")
def _round_decimals(random: Random) -> Case:
    decimals = random.randint(-2, 3)
    values = tensor(random, any_shape(random)) * 10
    return Case(lambda x: torch.round(x, decimals=decimals), [values], f"decimals={decimals}")


def _activation(description: str, function: Callable[[Any], Any], random: Random) -> Case:
    values = tensor(random, any_shape(random, 1), special=random.random() < 0.3)
    return Case(function, [values], description)


@makes("elu.default")
def _elu(random: Random) -> Case:
    alpha = round(random.uniform(0.1, 3), 2)
    name, function = random.choice(
        [
            ("elu", lambda x: F.elu(x, alpha)),
            ("selu", F.selu),
            ("celu", lambda x: F.celu(x, alpha)),
        ]
    )
    return _activation(f"{name}, alpha={alpha}", function, random)


@makes("leaky_relu.default")
def _leaky_relu(random: Random) -> Case:
    slope = random.choice([0.01, 0.2, 1.5, -0.5])
    return _activation(f"slope={slope}", lambda x: F.leaky_relu(x, slope), random)


@makes("gelu.default")
def _gelu(random: Random) -> Case:
    approximate = random.choice(["none", "tanh"])
    values = tensor(random, any_shape(random, 1))
    return Case(lambda x: F.gelu(x, approximate=approximate), [values], approximate)


@makes("hardtanh.default")
def _hardtanh(random: Random) -> Case:
    low = random.uniform(-3, 1)
    high = low + random.uniform(0.1, 3)
    name, function = random.choice(
        [("hardtanh", lambda x: F.hardtanh(x, low, high)), ("relu6", F.relu6)]
    )
    return _activation(f"{name}, {low}, {high}", function, random)


@makes("activation functions")
def _other_activations(random: Random) -> Case:
    a, b = round(random.uniform(0.2, 3), 2), round(random.uniform(0.2, 3), 2)
    name, function = random.choice(
        [
            ("softplus", lambda x: F.softplus(x, a, b)),
            ("hardswish", F.hardswish),
            ("hardsigmoid", F.hardsigmoid),
            ("hardshrink", lambda x: F.hardshrink(x, a)),
            ("softshrink", lambda x: F.softshrink(x, a)),
            ("softsign", F.softsign),
            ("tanhshrink", F.tanhshrink),
            ("logsigmoid", F.logsigmoid),
            ("mish", F.mish),
            ("silu", F.silu),
            ("threshold", lambda x: F.threshold(x, a, b)),
            ("prelu", lambda x: F.prelu(x, torch.tensor([a]))),
            ("square", torch.square),
            ("frac", torch.frac),
            ("nan_to_num", torch.nan_to_num),
            ("isfinite", torch.isfinite),
            ("logit", lambda x: torch.logit(x.sigmoid(), 0.01)),
        ]
    )
    return _activation(f"{name}, {a}, {b}", function, random)


@makes("_softmax.default")
def _softmax(random: Random) -> Case:
    shape = any_shape(random, 1)
    dim = random.randrange(-len(shape), len(shape))
    return Case(lambda x: torch.softmax(x, dim), [tensor(random, shape)], f"dim={dim}")


@makes("_log_softmax.default")
def _log_softmax(random: Random) -> Case:
    shape = any_shape(random, 1)
    dim = random.randrange(-len(shape), len(shape))
    return Case(lambda x: torch.log_softmax(x, dim), [tensor(random, shape)], f"dim={dim}")


def _number(random: Random, dtype: torch.dtype, may_be_float: bool) -> float:
    """A number that a type holds, or a float."""
    if dtype.is_floating_point or (may_be_float and random.random() < 0.3):
        return random.choice([-2.5, -1.0, 0.5, 2.0, 3.7])
    return random.choice([True, False]) if dtype == torch.bool else random.randint(1, 7)


def _pair(
    random: Random, types: tuple[torch.dtype, ...], special: bool = False
) -> list[torch.Tensor]:
    a, b = broadcast_pair(random)
    first = random.choice(types)
    second = first if random.random() < 0.5 else random.choice(types)
    return [tensor(random, a, first, special=special), tensor(random, b, second, special=special)]


def _binary(
    name: str,
    types: tuple[torch.dtype, ...],
    overload: str = "default",
    non_zero: bool = False,
    special: bool = True,
) -> None:
    """Cases with two tensors and, if the overload is for tensors, with a tensor and a number."""
    function = getattr(torch, name)

    def of_tensors(random: Random) -> Case:
        a, b = _pair(random, types, special and random.random() < 0.3)
        b = torch.where(b == 0, torch.ones_like(b), b) if non_zero else b
        return Case(function, [a, b], name)

    def of_number(random: Random) -> Case:
        dtype = random.choice(types)
        values, number = (
            tensor(random, any_shape(random), dtype),
            _number(random, dtype, FLOAT in types),
        )
        return Case(lambda x: function(x, number), [values], f"{name} {number}")

    CASES[f"{name}.{overload}"] = of_tensors
    if overload == "Tensor":
        CASES[f"{name}.Scalar"] = of_number


_ARITHMETIC = (FLOAT, FLOAT, *INTEGERS)
for _name in ("eq", "ge", "gt", "le", "lt", "ne"):
    _binary(_name, TYPES, "Tensor")
for _name in ("logical_and", "logical_or", "logical_xor", "maximum", "minimum"):
    _binary(_name, TYPES)
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    _binary(_name, (*INTEGERS, torch.bool), "Tensor")
for _name in ("remainder", "fmod"):
    _binary(_name, _ARITHMETIC, "Tensor", non_zero=True, special=False)
_binary("atan2", TYPES)


def _scaled(name: str, random: Random) -> Case:
    a, b = _pair(random, _ARITHMETIC, random.random() < 0.3)
    is_float = a.dtype.is_floating_point or b.dtype.is_floating_point
    alpha = random.choice([1, 2, -3, 0.5] if is_float else [1, 2, -3 if b.dtype.is_signed else 3])
    if torch.uint8 in (a.dtype, b.dtype) and alpha == -3:
        alpha = 3
    function = getattr(torch, name)
    return Case(lambda x, y: function(x, y, alpha=alpha), [a, b], f"{name}, alpha={alpha}")


@makes("add.Tensor")
def _add(random: Random) -> Case:
    if random.random() < 0.2:
        return Case(torch.add, _pair(random, TYPES), "add")
    return _scaled("add", random)


@makes("sub.Tensor")
def _sub(random: Random) -> Case:
    return _scaled(random.choice(["sub", "rsub"]), random)


@makes("mul.Tensor")
def _mul(random: Random) -> Case:
    return Case(torch.mul, _pair(random, TYPES, random.random() < 0.3), "mul")


@makes("div.Tensor")
def _div(random: Random) -> Case:
    if random.random() < 0.3:
        values = tensor(random, any_shape(random), random.choice(TYPES))
        number = random.choice([2, 3.5, -7])
        return Case(lambda x: x / number, [values], f"/ {number}")
    return Case(torch.div, _pair(random, TYPES, random.random() < 0.3), "div")


def _aten(name: str, overload: str, numbers: tuple[float, ...], types: Any) -> None:
    """Operators that only a program in PyTorch's own operators has."""
    function = getattr(getattr(torch.ops.aten, name), overload)

    def make(random: Random) -> Case:
        values = tensor(random, any_shape(random), random.choice(types))
        number = random.choice(numbers)
        return Case(lambda x: function(x, number), [values], f"{name} {number}")

    CASES[f"{name}.{overload}"] = make


for _name in ("add", "sub", "mul", "div"):
    _aten(_name, "Scalar", (2, -3.5, 0.1), (FLOAT, torch.int32, torch.int64))


@makes("div.Tensor_mode")
def _div_mode(random: Random) -> Case:
    mode = random.choice(["floor", "trunc", "floor"])
    a, b = _pair(random, _ARITHMETIC, False)
    if random.random() < 0.3:
        number = random.choice([2, -3, 7] if a.dtype != torch.uint8 else [2, 3])
        number = number / 10 if a.dtype.is_floating_point else number
        return Case(lambda x: torch.div(x, number, rounding_mode=mode), [a], f"{number} {mode}")
    b = torch.where(b == 0, torch.ones_like(b), b)
    return Case(lambda x, y: torch.div(x, y, rounding_mode=mode), [a, b], mode)


@makes("div.Scalar_mode")
def _div_scalar_mode(random: Random) -> Case:
    mode, dtype = random.choice(["floor", "trunc"]), random.choice((FLOAT, *INTEGERS))
    number = random.choice([3, 7, 0.1 if dtype == FLOAT else 2])
    function = torch.ops.aten.div.Scalar_mode
    values = tensor(random, any_shape(random), dtype)
    return Case(lambda x: function(x, number, rounding_mode=mode), [values], f"{number} {mode}")


@makes("pow.Tensor_Scalar")
def _pow_number(random: Random) -> Case:
    dtype = random.choice((FLOAT, FLOAT, torch.int32, torch.int64, torch.int8, torch.uint8))
    if dtype == FLOAT:
        exponent = random.choice([2, 3, 0.5, -1, -1.5, 0, 1, 2.5])
        values = tensor(random, any_shape(random))
    else:
        exponent = random.choice([0, 1, 2, 3, 0.5])
        values = tensor(random, any_shape(random), dtype, 0, 11)
    return Case(lambda x: torch.pow(x, exponent), [values], f"exponent={exponent}")


@makes("pow.Tensor_Tensor")
def _pow(random: Random) -> Case:
    a, b = broadcast_pair(random)
    base = tensor(random, a, random.choice((FLOAT, torch.int32)), 0, 5).abs()
    return Case(torch.pow, [base, tensor(random, b, FLOAT, -2, 3)], "pow")


@makes("pow.Scalar")
def _number_pow(random: Random) -> Case:
    base = random.choice([2.0, 0.5, 3.5])
    values = tensor(random, any_shape(random), random.choice((FLOAT, torch.int32)), -5, 5)
    return Case(lambda x: torch.pow(base, x), [values], f"base={base}")


@makes("clamp.default")
def _clamp(random: Random) -> Case:
    dtype = random.choice((FLOAT, FLOAT, *INTEGERS))
    numbers = [-3, 0, 1, 5] if dtype != torch.uint8 else [0, 3, 100]
    if dtype == FLOAT:
        numbers = [-2.5, 0.0, 1.5, 3.0, float("inf")]
    low, high = random.choice([None, *numbers]), random.choice(numbers)
    high = None if low is not None and random.random() < 0.3 else high
    values = tensor(random, any_shape(random), dtype, special=random.random() < 0.3)
    return Case(lambda x: torch.clamp(x, low, high), [values], f"{low}, {high}")


@makes("clamp.Tensor")
def _clamp_tensors(random: Random) -> Case:
    shape, dtype = any_shape(random, 1), random.choice((FLOAT, FLOAT, torch.int32, torch.uint8))
    special = random.random() < 0.3
    values = tensor(random, shape, dtype, special=special)
    bounds = [tensor(random, shape[-1:], dtype, special=special) for _ in range(2)]
    return Case(torch.clamp, [values, *bounds], "min, max")


@makes("where.self")
def _where(random: Random) -> Case:
    a, b = _pair(random, TYPES)
    shape = torch.broadcast_shapes(a.shape, b.shape)
    condition = tensor(random, shape, torch.bool)
    if random.random() < 0.3:
        return Case(lambda c, x: torch.where(c, x, 2.5), [condition, a], "number")
    return Case(torch.where, [condition, a, b], "tensors")


@makes("masked_fill")
def _masked_fill(random: Random) -> Case:
    dtype = random.choice((FLOAT, FLOAT, *INTEGERS))
    values = tensor(random, any_shape(random, 1), dtype)
    number = -float("inf") if dtype == FLOAT and random.random() < 0.5 else 3
    mask = tensor(random, values.shape, torch.bool)
    return Case(lambda x, m: x.masked_fill(m, number), [values, mask], f"{number}")


@makes("_to_copy.default")
def _cast(random: Random) -> Case:
    source, target = random.choice(TYPES), random.choice(TYPES)
    low, high = (0, 200) if target == torch.uint8 else (None, None)
    if source == FLOAT and target == torch.int8:
        low, high = -100, 100
    values = tensor(random, any_shape(random), source, low, high)
    return Case(lambda x: x.to(target), [values], f"to {target}")


@makes("linear interpolation")
def _lerp(random: Random) -> Case:
    shape, weight = any_shape(random, 1), random.choice([0.2, 0.7, 1.5])
    name, function = random.choice(
        [
            ("lerp", lambda a, b: torch.lerp(a, b, weight)),
            ("addcmul", lambda a, b: torch.addcmul(a, a, b, value=weight)),
            ("addcdiv", lambda a, b: torch.addcdiv(a, b, a.abs() + 1, value=weight)),
            ("logaddexp", torch.logaddexp),
            ("floor_divide", lambda a, b: a // (b.abs() + 0.1)),
            ("xlogy", lambda a, b: torch.xlogy(a, b.abs() + 0.1)),
            ("mse_loss", F.mse_loss),
            ("smooth_l1_loss", F.smooth_l1_loss),
        ]
    )
    inputs = [tensor(random, shape), tensor(random, shape)]
    return Case(function, inputs, f"{name}, {weight}", Tolerance(1e-4, 1e-5))
