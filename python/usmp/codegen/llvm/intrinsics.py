"""The fixed-point functions that quantized operators call, as TIR.

They are separate PrimFuncs, which LLVM inlines, and are bit-exact with
`codegen/files/arithmetic/fixed_point.c`. Shifts that may overflow int32 are computed in uint32,
because LLVM assumes that signed overflow never happens. TVM's LLVM code generator does not support
functions that return a value, so the last parameter is a pointer to the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tvm import tirx
from tvm.ir import PointerType, PrimType
from tvm.tirx import Cast, Expr, Select

from usmp.codegen.llvm.arithmetic import LLVM_ARITHMETIC
from usmp.tir.intrinsics import (
    DIVIDE,
    INTERPOLATED_LOGISTIC,
    INTERPOLATED_TANH,
    INVERSE_SQUARE_ROOT,
    INVERSE_SQUARE_ROOT_SHIFT,
    LEADING_ZEROS,
    LOGARITHM,
    MULTIPLY_AS_FLOAT,
    MULTIPLY_BY_FLOAT,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER_64,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER_SINGLE_ROUNDING,
    MULTIPLY_HIGH,
    ONE_OVER_ONE_PLUS,
    RESCALE_CHANNEL,
    RESCALE_RECORD,
    SATURATE_INT8,
    SIGMOID_INDEX,
    arithmetic_function,
)
from usmp.tir.nodes import int32

Intrinsic: TypeAlias = Callable[..., Expr]

SUM_64 = "tvmgen_sum_uint64"
DIFFERENCE_64 = "tvmgen_difference_uint64"
PRODUCT_64 = "tvmgen_product_uint64"
"""Names of wrapping operations on two uint64, computed without overflow."""

_GREATEST = 2**31 - 1
_SQRT_HALF = 1518500250
"""sqrt(1/2) in 31 fractional bits."""


class Bindings:
    """The bindings of a function's body, in program order."""

    def __init__(self) -> None:
        self.statements: list[tirx.Stmt] = []

    def let(self, name: str, value: Expr) -> Expr:
        """Bind `value` to a new variable, so that it is computed once."""
        variable = tirx.Var(name, str(value.ty.dtype))
        self.statements.append(tirx.Bind(variable, value))
        return variable

    def store(self, name: str, value: Expr) -> Expr:
        """Bind `value` through memory, which LLVM optimizes away. This breaks chains of bindings,
        because TVM would take seconds to simplify them with their values substituted."""
        buffer = tirx.decl_buffer((1,), str(value.ty.dtype), name)
        self.statements += [tirx.AllocBuffer(buffer), tirx.BufferStore(buffer, value, [0])]
        return self.let(f"stored_{name}", buffer[0])


def intrinsic_function(name: str) -> tirx.PrimFunc:
    """Return a PrimFunc of `LLVM_INTRINSICS`, which takes a result pointer last and returns 0."""
    function, dtypes = LLVM_INTRINSICS[name]
    params = [tirx.Var(f"argument{index}", dtype) for index, dtype in enumerate(dtypes)]
    bindings = Bindings()
    value = function(bindings, *params)
    result = tirx.decl_buffer((1,), value.ty.dtype, "result")
    pointer = tirx.Var("result_pointer", PointerType(PrimType(value.ty.dtype)))
    declare = tirx.DeclBuffer(result, data=pointer)
    store = tirx.BufferStore(result, value, [0])
    body = tirx.SeqStmt([declare, *bindings.statements, store])
    return tirx.PrimFunc([*params, pointer], body, PrimType("int32"))


def _multiply(b: Bindings, value: Expr, multiplier: Expr, shift: Expr) -> Expr:
    left = b.let("left", Select(shift > 0, shift, int32(0)))
    right = b.let("right", Select(shift > 0, int32(0), -shift))
    shifted = _as("int64", _as("int32", _as("uint32", value) << _as("uint32", left)))
    high = b.let("high", _as("int32", _high_product(shifted, multiplier)))
    ones = (_uint32(1) << _as("uint32", right)) - _uint32(1)
    mask = b.let("mask", _as("int32", ones))
    threshold = (mask >> 1) + _as("int32", high < 0)
    return (high >> right) + _as("int32", (high & mask) > threshold)


def _multiply_64(b: Bindings, value: Expr, multiplier: Expr, shift: Expr) -> Expr:
    rounded = (multiplier + (1 << 15)) >> 16
    reduced = _as("int64", Select(multiplier < 0x7FFF0000, rounded, int32(0x7FFF)))
    right = b.let("right", _as("int64", 15 - shift))
    return _as("int32", (value * reduced + (_int64(1) << (right - 1))) >> right)


def _multiply_single_rounding(b: Bindings, value: Expr, multiplier: Expr, shift: Expr) -> Expr:
    right = b.let("right", _as("int64", 31 - shift))
    product = _as("int64", value) * _as("int64", multiplier)
    return _as("int32", (product + (_int64(1) << (right - 1))) >> right)


def _multiply_as_float(b: Bindings, value: Expr, multiplier: Expr, shift: Expr) -> Expr:
    wide = b.let("wide", _as("int64", value))
    magnitude = _as("uint64", Select(wide < 0, -wide, wide))
    rounded = b.store("rounded", _to_24_bits(b, magnitude))
    product = b.store("product", _to_24_bits(b, rounded * _as("uint64", multiplier)))
    result = b.let("result", _as("int32", _to_even(b, product, _as("uint64", 31 - shift))))
    return Select(value < 0, -result, result)


def _multiply_by_float(b: Bindings, value: Expr, factor: Expr) -> Expr:
    mantissa = (factor & int32(0x7FFFFF)) | int32(0x800000)
    multiplier = b.let("multiplier", _as("int32", _as("uint32", mantissa) << _uint32(7)))
    shift = b.let("shift", (factor >> 23) - 126)
    return _multiply_as_float(b, value, multiplier, shift)


def _to_24_bits(b: Bindings, value: Expr) -> Expr:
    """Round a number of less than 63 bits to 24 significant bits."""
    zero_is_undefined = tirx.IntImm("bool", 0)
    zeros = tirx.call_llvm_pure_intrin("int64", "llvm.ctlz", _as("int64", value), zero_is_undefined)
    bits = b.store("bits", _as("uint64", tirx.Max(_int64(40) - zeros, _int64(0))))
    return _to_even(b, value, bits) << bits


def _to_even(b: Bindings, value: Expr, bits: Expr) -> Expr:
    """Return `value` shifted right by `bits`, rounded to nearest, ties to even."""
    number = b.store("number", value)
    power = b.store("power", _uint64(1) << bits)
    half, rest = power >> _uint64(1), number & (power - _uint64(1))
    whole = b.store("whole", number >> bits)
    is_tie = tirx.And(rest.equal(half), bits > _uint64(0))
    is_odd = (whole & _uint64(1)).equal(_uint64(1))
    return whole + _as("uint64", tirx.Or(rest > half, tirx.And(is_tie, is_odd)))


def _rescale_channel(
    b: Bindings,
    accumulator: Expr,
    low: Expr,
    middle: Expr,
    high: Expr,
    record_bits: Expr,
    mantissa_bits: Expr,
    shift_bits: Expr,
    shift: Expr,
) -> Expr:
    parts = (_as("uint64", low), _as("uint64", middle) << _uint64(16))
    record = b.let("record", parts[0] | parts[1] | _as("uint64", high) << _uint64(32))
    one = b.let("one", _uint32(1) << _as("uint32", mantissa_bits))
    mantissa = (_as("uint32", record) & (one - _uint32(1))) | one
    multiplier = b.let("multiplier", _as("int32", mantissa << _as("uint32", 30 - mantissa_bits)))
    shift_mask = (_uint32(1) << _as("uint32", shift_bits)) - _uint32(1)
    less = _as("uint32", record >> _as("uint64", mantissa_bits)) & shift_mask
    above = b.let("above", 64 - record_bits)
    topmost = _as("int64", record << _as("uint64", above))
    signed_record = topmost >> _as("int64", above)
    bias = _as("int32", signed_record >> _as("int64", mantissa_bits + shift_bits))
    value = b.let("value", accumulator + bias)
    return _multiply(b, value, multiplier, b.let("shift", shift - _as("int32", less)))


def _rescale_record(
    b: Bindings, accumulator: Expr, multiplier: Expr, shift: Expr, rounding: Expr
) -> Expr:
    right = b.let("right", shift & 255)
    product = _as("int64", accumulator) * _as("int64", multiplier)
    high = b.let("high", _as("int32", (product + (_int64(1) << _int64(30))) >> _int64(31)))
    rounded = b.let("rounded", _as("int32", _as("uint32", rounding) << _as("uint32", right)) >> 1)
    return (high + (high >> 31) + rounded) >> right


def _multiply_high(_: Bindings, value: Expr, multiplier: Expr) -> Expr:
    return _as("int32", _high_product(_as("int64", value), multiplier))


def _saturate_int8(_: Bindings, value: Expr) -> Expr:
    return tirx.max(tirx.min(value, int32(127)), int32(-128))


def _leading_zeros(_: Bindings, value: Expr) -> Expr:
    zero_is_undefined = tirx.IntImm("bool", 0)
    zeros: Expr = tirx.call_llvm_pure_intrin("int32", "llvm.ctlz", value, zero_is_undefined)
    return zeros


def _one_over_one_plus(b: Bindings, value: Expr) -> Expr:
    d = b.let("d", (_as("int64", value) + 2**31) >> 1)
    x = b.let("x", 1515870810 + _high_product(d, _int64(-1010580540)))
    for _ in range(3):
        error = b.let("error", (1 << 29) - _high_product(d, x))
        x = b.let("x", x + _high_product(x, error) * 4)
    return Select(x < (1 << 30), _as("int32", x * 2), int32(_GREATEST))


def _divide(b: Bindings, dividend: Expr, divisor: Expr, multiplier: Expr, shift: Expr) -> Expr:
    x = b.let("x", Select(divisor < 0, -dividend, dividend))
    y = b.let("y", Select(divisor < 0, -divisor, Select(divisor > 0, divisor, int32(1))))
    zeros = b.let("zeros", _leading_zeros(b, y))
    fraction = _as("uint32", y) << _as("uint32", zeros) & _uint32(0x7FFFFFFF)
    inverse = b.store("inverse", _one_over_one_plus(b, b.store("fraction", _as("int32", fraction))))
    magnitude = Select(x < 0, tirx.bitwise_xor(x, int32(-1)), x)
    headroom = b.let("headroom", _leading_zeros(b, magnitude) - 1)
    quotient = b.store("quotient", _multiply(b, x, inverse, headroom))
    total = b.let("total", shift - (31 - zeros) - headroom)
    # Limit the shift, because Select evaluates both sides.
    possible = b.let("possible", tirx.Max(total, int32(-31)))
    return Select(total < -31, int32(0), _multiply(b, quotient, multiplier, possible))


def _halvings(b: Bindings, value: Expr) -> Expr:
    """Return how often to divide `value` by 4 to get into [2^27, 2^29); negative: multiply."""
    return b.let("halvings", (4 - _leading_zeros(b, value)) >> 1)


def _inverse_square_root_shift(b: Bindings, value: Expr) -> Expr:
    right = b.let("right", 11 + _halvings(b, value))
    return Select(tirx.Or(value <= 1, right < 0), int32(0), -right)


def _inverse_square_root(b: Bindings, value: Expr) -> Expr:
    halvings = _halvings(b, value)
    right = b.let("right", 11 + halvings)
    down = tirx.Max(halvings, int32(0)) * 2
    up = tirx.Max(-halvings, int32(0)) * 2
    number = _as("int32", _as("uint32", value >> down) << _as("uint32", up))
    half = b.let("half", _as("int64", ((number >> 1) + 1) >> 1))
    x: Expr = _int64(1 << 28)
    for _ in range(5):
        square = b.let("square", _high_product(x, x))
        cube = b.let("cube", _high_product(square, x) * 64)
        x = b.let("x", (_high_product(x, _int64(402653184)) - _high_product(half, cube)) * 8)
    x = b.let("x", _high_product(x, _int64(_SQRT_HALF)))
    raised = x << _as("int64", tirx.Max(-right, int32(0)))
    return Select(value <= 1, int32(_GREATEST), _as("int32", raised))


def _logarithm(b: Bindings, value: Expr) -> Expr:
    wide = b.let("wide", _as("int64", value))
    a_zeros = b.let("a_zeros", _leading_zeros(b, value))
    a = b.let("a", _high_product(wide << _as("int64", a_zeros - 1), _int64(_SQRT_HALF)))
    b_part = b.let("b", _as("int32", _high_product(wide, _int64(_SQRT_HALF))))
    b_zeros = b.let("b_zeros", _leading_zeros(b, b_part) - 1)
    a_power = _as("int64", 12 - a_zeros) * (1 << 25) + (1 << 23)
    b_power = _as("int64", 12 - b_zeros) * (1 << 25) - (1 << 23)
    a_rest = tirx.Min(a * 2, _int64(_GREATEST))
    b_rest = tirx.Min(wide << _as("int64", b_zeros), _int64(_GREATEST))
    r = b.let("r", tirx.Min(a_rest, b_rest))
    power = b.let("power", tirx.Max(a_power, b_power))
    p = b.let("p", (r + 1805811301 + 1) >> 1)
    q = b.let("q", (r - 1805811301) * 2)
    q2 = b.let("q2", _high_product(q, q))
    q3 = b.let("q3", _high_product(q, q2))
    top = b.let("top", _high_product(q, r) + _high_product(q3, _int64(117049297)))
    slope = b.let("slope", 1057819769 + q + _high_product(_int64(127690142), q2))
    bottom = _high_product(p, slope) + _high_product(_int64(638450708), q)
    denominator = b.let("denominator", _as("int32", bottom))
    inverse = b.let("inverse", _as("int64", _one_over_one_plus(b, denominator)))
    scaled = b.let("scaled", (top + 32 - _as("int64", top < 0)) >> 6)
    whole = _high_product(power, _int64(1488522236))
    return _as("int32", (whole + _high_product(scaled, inverse)) * 2)


def _sigmoid_index(b: Bindings, argument: Expr, bits: Expr, next_: Expr) -> Expr:
    index = b.let("index", _magnitude(b, argument) >> bits)
    return tirx.Min(index, int32(254)) + next_


def _interpolated_logistic(b: Bindings, argument: Expr, low: Expr, high: Expr) -> Expr:
    magnitude, between = _between(b, argument, low, high, 9)
    value = b.let("value", Select((magnitude >> 9) < 255, between, int32(32767 << 10)))
    return Select(argument < 0, (1 << 25) + 511 - value, value + 512) >> 10


def _interpolated_tanh(b: Bindings, argument: Expr, low: Expr, high: Expr) -> Expr:
    magnitude, between = _between(b, argument, low, high, 8)
    value = b.let("value", Select((magnitude >> 8) < 255, between, int32(65535 << 8)))
    return Select(argument < 0, (1 << 23) + 127 - value, value - (1 << 23) + 128) >> 8


def _between(b: Bindings, argument: Expr, low: Expr, high: Expr, bits: int) -> tuple[Expr, Expr]:
    """Return the argument's magnitude, and 2^bits times the interpolation between two table entries
    by its lowest `bits`."""
    magnitude = _magnitude(b, argument)
    first, second = _as("int32", low), _as("int32", high)
    part = magnitude & ((1 << bits) - 1)
    return magnitude, (first << bits) + part * (second - first)


def _magnitude(b: Bindings, value: Expr) -> Expr:
    return b.let("magnitude", Select(value < 0, -value, value))


def _high_product(a: Expr, b: Expr) -> Expr:
    """Return (a * b) / 2^31 in int64, rounded."""
    return (_as("int64", a) * _as("int64", b) + (1 << 30)) >> 31


def _sum_64(b: Bindings, x: Expr, y: Expr) -> Expr:
    low = b.let("low", _low(x) + _low(y))
    high = _high(x) + _high(y) + _high(low)
    return high << _uint64(32) | _low(low)


def _difference_64(b: Bindings, x: Expr, y: Expr) -> Expr:
    more = b.let("more", _sum_64(b, x, _uint64(1)))
    return _sum_64(b, more, b.let("complement", tirx.bitwise_not(y)))


def _product_64(b: Bindings, x: Expr, y: Expr) -> Expr:
    crosses = _low(_high(x) * _low(y)) + _low(_low(x) * _high(y))
    upper = b.let("upper", crosses << _uint64(32))
    return _sum_64(b, upper, b.let("lower", _low(x) * _low(y)))


def _signed(compute: Intrinsic) -> Intrinsic:
    """Return a function of two int64 that computes in uint64."""
    return lambda b, x, y: _as("int64", compute(b, _as("uint64", x), _as("uint64", y)))


def _low(value: Expr) -> Expr:
    return value & _uint64(0xFFFFFFFF)


def _high(value: Expr) -> Expr:
    return value >> _uint64(32)


def _as(dtype: str, value: Expr) -> Expr:
    return value if str(value.ty.dtype) == dtype else Cast(dtype, value)


def _int64(value: int) -> Expr:
    return tirx.IntImm("int64", value)


def _uint32(value: int) -> Expr:
    return tirx.IntImm("uint32", value)


def _uint64(value: int) -> Expr:
    return tirx.IntImm("uint64", value)


_ONE = ("int32",)
_THREE = ("int32",) * 3
_TABLE = ("int32", "uint16", "uint16")
_TWO_WIDE = ("uint64",) * 2
_RECORD = ("int32", "uint16", "uint16", "uint32", "int32", "int32", "int32", "int32")

LLVM_INTRINSICS: dict[str, tuple[Intrinsic, tuple[str, ...]]] = {
    MULTIPLY_BY_QUANTIZED_MULTIPLIER: (_multiply, _THREE),
    MULTIPLY_BY_QUANTIZED_MULTIPLIER_64: (_multiply_64, ("int64", "int32", "int32")),
    MULTIPLY_BY_QUANTIZED_MULTIPLIER_SINGLE_ROUNDING: (_multiply_single_rounding, _THREE),
    MULTIPLY_AS_FLOAT: (_multiply_as_float, _THREE),
    MULTIPLY_BY_FLOAT: (_multiply_by_float, ("int32",) * 2),
    RESCALE_CHANNEL: (_rescale_channel, _RECORD),
    RESCALE_RECORD: (_rescale_record, ("int32",) * 4),
    MULTIPLY_HIGH: (_multiply_high, ("int32",) * 2),
    SATURATE_INT8: (_saturate_int8, _ONE),
    LEADING_ZEROS: (_leading_zeros, _ONE),
    ONE_OVER_ONE_PLUS: (_one_over_one_plus, _ONE),
    DIVIDE: (_divide, ("int32",) * 4),
    INVERSE_SQUARE_ROOT_SHIFT: (_inverse_square_root_shift, _ONE),
    INVERSE_SQUARE_ROOT: (_inverse_square_root, _ONE),
    LOGARITHM: (_logarithm, _ONE),
    SIGMOID_INDEX: (_sigmoid_index, _THREE),
    INTERPOLATED_LOGISTIC: (_interpolated_logistic, _TABLE),
    INTERPOLATED_TANH: (_interpolated_tanh, _TABLE),
    SUM_64: (_sum_64, _TWO_WIDE),
    DIFFERENCE_64: (_difference_64, _TWO_WIDE),
    PRODUCT_64: (_product_64, _TWO_WIDE),
    **LLVM_ARITHMETIC,
    arithmetic_function("add", "int64"): (_signed(_sum_64), ("int64",) * 2),
    arithmetic_function("subtract", "int64"): (_signed(_difference_64), ("int64",) * 2),
    arithmetic_function("multiply", "int64"): (_signed(_product_64), ("int64",) * 2),
}
"""Name of a C function -> a function that returns its result as TIR from `Bindings` and the
arguments, and the types of the arguments."""
