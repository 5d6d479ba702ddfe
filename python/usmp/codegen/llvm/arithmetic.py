"""The integer functions of `codegen/files/arithmetic` as TIR for LLVM.

LLVM evaluates both sides of a Select, so both must be defined.
"""

from __future__ import annotations

from collections.abc import Callable

from tvm import tirx
from tvm.tirx import Cast, Expr, IntImm, Select

from usmp.tir.intrinsics import arithmetic_function, conversion_function

_Arithmetic = Callable[[Expr, Expr], Expr]


def _wrapped(operation: type) -> _Arithmetic:
    """Return a sum, difference or product of int32 that wraps; it is computed in int64."""

    def compute(a: Expr, b: Expr) -> Expr:
        return Cast("int32", operation(Cast("int64", a), Cast("int64", b)))

    return compute


def _constant(like: Expr, value: int) -> Expr:
    return IntImm(str(like.ty.dtype), value)


def _unsigned(value: Expr) -> Expr:
    dtype = str(value.ty.dtype)
    return value if dtype.startswith("u") else Cast(f"u{dtype}", value)


def _negated(a: Expr) -> Expr:
    least = _constant(a, -(2 ** (int(a.ty.dtype.bits) - 1)))
    return Select(a.equal(least), a, tirx.Sub(_constant(a, 0), a))


def _by_nonzero(operation: type) -> _Arithmetic:
    """Return an operation on unsigned integers that is 0 for a divisor of 0."""

    def compute(a: Expr, b: Expr) -> Expr:
        zero, one = _constant(a, 0), _constant(a, 1)
        return Select(b.equal(zero), zero, operation(a, Select(b.equal(zero), one, b)))

    return compute


def _by_any(operation: type, by_minus_one: Callable[[Expr], Expr]) -> _Arithmetic:
    """Return a signed operation that is 0 for a divisor of 0 and does not overflow for -1."""

    def compute(a: Expr, b: Expr) -> Expr:
        zero, one, minus_one = (_constant(a, value) for value in (0, 1, -1))
        is_special = tirx.Or(b.equal(zero), b.equal(minus_one))
        usual = operation(a, Select(is_special, one, b))
        return Select(b.equal(zero), zero, Select(b.equal(minus_one), by_minus_one(a), usual))

    return compute


def _floor_quotient(a: Expr, b: Expr) -> Expr:
    one, zero = _constant(a, 1), _constant(a, 0)
    is_rounded_up = tirx.And(tirx.Mod(a, b) != zero, _signs_differ(a, b))
    return tirx.Sub(tirx.Div(a, b), Select(is_rounded_up, one, zero))


def _floor_remainder(a: Expr, b: Expr) -> Expr:
    zero, rest = _constant(a, 0), tirx.Mod(a, b)
    return tirx.Add(rest, Select(tirx.And(rest != zero, _signs_differ(rest, b)), b, zero))


def _signs_differ(a: Expr, b: Expr) -> Expr:
    zero = _constant(a, 0)
    return Cast("uint8", a < zero) != Cast("uint8", b < zero)


def _shift_left(a: Expr, b: Expr) -> Expr:
    bits = int(a.ty.dtype.bits)
    count, zero = _unsigned(b), _constant(a, 0)
    is_small = count < _constant(count, bits)
    inside = Select(is_small, count, _constant(count, 0))
    shifted = tirx.LShift(_unsigned(a), inside)
    return Select(is_small, Cast(str(a.ty.dtype), shifted), zero)


def _shift_right_signed(a: Expr, b: Expr) -> Expr:
    bits = int(a.ty.dtype.bits)
    count = _unsigned(b)
    last = _constant(a, bits - 1)
    return tirx.RShift(a, Select(count < _constant(count, bits), b, last))


def _shift_right_unsigned(a: Expr, b: Expr) -> Expr:
    bits, zero = int(a.ty.dtype.bits), _constant(a, 0)
    is_small = b < _constant(b, bits)
    return Select(is_small, tirx.RShift(a, Select(is_small, b, zero)), zero)


def _zero(a: Expr) -> Expr:
    return _constant(a, 0)


_INT32: dict[str, _Arithmetic] = {
    "add": _wrapped(tirx.Add),
    "subtract": _wrapped(tirx.Sub),
    "multiply": _wrapped(tirx.Mul),
}
_SIGNED: dict[str, _Arithmetic] = {
    "divide": _by_any(tirx.Div, _negated),
    "remainder": _by_any(tirx.Mod, _zero),
    "floor_divide": _by_any(_floor_quotient, _negated),  # type: ignore[arg-type]
    "floor_modulo": _by_any(_floor_remainder, _zero),  # type: ignore[arg-type]
    "shift_left": _shift_left,
    "shift_right": _shift_right_signed,
}
_UNSIGNED: dict[str, _Arithmetic] = {
    "divide": _by_nonzero(tirx.Div),
    "remainder": _by_nonzero(tirx.Mod),
    "shift_left": _shift_left,
    "shift_right": _shift_right_unsigned,
}


def _conversion(target: str) -> Callable[..., Expr]:
    intrinsic = "llvm.fptoui.sat" if target.startswith("u") else "llvm.fptosi.sat"

    def convert(_: object, value: Expr) -> Expr:
        converted: Expr = tirx.call_llvm_pure_intrin(target, intrinsic, value)
        return converted

    return convert


def _of_two(operation: _Arithmetic) -> Callable[..., Expr]:
    return lambda _, a, b: operation(a, b)


LLVM_ARITHMETIC: dict[str, tuple[Callable[..., Expr], tuple[str, ...]]] = {
    **{
        arithmetic_function(operation, "int32"): (_of_two(compute), ("int32",) * 2)
        for operation, compute in _INT32.items()
    },
    **{
        arithmetic_function(operation, f"{sign}int{bits}"): (
            _of_two(compute),
            (f"{sign}int{bits}",) * 2,
        )
        for sign, operations in (("", _SIGNED), ("u", _UNSIGNED))
        for operation, compute in operations.items()
        for bits in (32, 64)
    },
    **{
        conversion_function(target, source): (_conversion(target), (source,))
        for target in ("int32", "int64", "uint64")
        for source in ("float32", "float64")
    },
}
"""Name of a C function -> a function that returns its result as TIR from `Bindings` and the
arguments, and the types of the arguments."""
