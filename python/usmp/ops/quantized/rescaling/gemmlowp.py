"""Functions of fixed-point numbers, exactly as gemmlowp's fixedpoint.h computes them.

A number Qm.n is a 32-bit integer of m integer bits and n = 31 - m fractional bits; arguments and
results are these raw integers. The functions run at compile time, to fill tables.
"""

from __future__ import annotations

from usmp.ops.quantized.rescaling.fixed_point import round_shift_right, wrap_int32

INT32_MAX = 2**31 - 1
ONE_Q0 = INT32_MAX
"""The number of Q0.31 that is nearest to 1."""

_EXP_OF_MINUS_EIGHTH = 1895147668
_THIRD = 715827883
_EXP_OF_MINUS_POWERS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
"""exp(-2**e) for e from -2 to 4, in Q0.31."""
_HALF_SQRT_2 = 1518500250
"""sqrt(2) / 2 in Q0.31."""
_48_OVER_17, _MINUS_32_OVER_17 = 1515870810, -1010580540
"""In Q2.29: the linear first estimate of Newton's division."""


def saturate(value: int, bits: int = 32) -> int:
    """Clamp `value` to the signed integers of some bits."""
    return min(max(value, -(1 << (bits - 1))), (1 << (bits - 1)) - 1)


def multiply(a: int, b: int, bits: int = 32) -> int:
    """Return the rounded high half of the doubled product (SaturatingRoundingDoublingHighMul).

    The integer bits of the factors add up.
    """
    return saturate((a * b + (1 << (bits - 2))) >> (bits - 1), bits)


def multiply_by_power(value: int, exponent: int) -> int:
    """Return `value * 2**exponent`; left shifts saturate, right shifts round."""
    if exponent < 0:
        return round_shift_right(value, -exponent)
    return saturate(value << exponent)


def exp_on_negative(value: int, integer_bits: int) -> int:
    """Return exp(value) in Q0.31; the argument is not positive, with at most 5 integer bits."""
    fractional_bits = 31 - integer_bits
    quarter = 1 << (fractional_bits - 2)
    fraction = (value & (quarter - 1)) - quarter
    result = _exp_between_minus_quarter_and_0(multiply_by_power(fraction, integer_bits))
    remainder = fraction - value
    for exponent, factor in enumerate(_EXP_OF_MINUS_POWERS, -2):
        if integer_bits > exponent and remainder & (1 << (fractional_bits + exponent)):
            result = multiply(result, factor)
    return ONE_Q0 if value == 0 else result


def _exp_between_minus_quarter_and_0(value: int) -> int:
    """Return exp in Q0.31 by a polynomial of degree 4 around -1/8."""
    x = value + (1 << 28)
    x2 = multiply(x, x)
    x3 = multiply(x2, x)
    x4 = multiply(x2, x2)
    cubic = multiply(round_shift_right(x4, 2) + x3, _THIRD)
    series = round_shift_right(cubic + x2, 1)
    return wrap_int32(_EXP_OF_MINUS_EIGHTH + multiply(_EXP_OF_MINUS_EIGHTH, x + series))


def one_over_one_plus(value: int) -> int:
    """Return 1 / (1 + value) in Q0.31 for a number in [0, 1] in Q0.31."""
    return multiply_by_power(_double_reciprocal(value), 1)


def one_minus_over_one_plus(value: int) -> int:
    """Return (1 - value) / (1 + value) in Q0.31 for a number in [0, 1] in Q0.31."""
    return multiply_by_power(_double_reciprocal(value) - (1 << 29), 2)


def _double_reciprocal(value: int) -> int:
    """Return 2 / (1 + value) in Q2.29, by three steps of Newton's division."""
    half_denominator = (value + ONE_Q0 + 1) >> 1
    x = _48_OVER_17 + multiply(half_denominator, _MINUS_32_OVER_17)
    for _ in range(3):
        error = (1 << 29) - multiply(half_denominator, x)
        x += multiply_by_power(multiply(x, error), 2)
    return x


def logistic(value: int, integer_bits: int) -> int:
    """Return 1 / (1 + exp(-value)) in Q0.31."""
    if value == 0:
        return 1 << 30
    positive = one_over_one_plus(exp_on_negative(-abs(value), integer_bits))
    return positive if value > 0 else ONE_Q0 - positive


def tanh(value: int, integer_bits: int) -> int:
    """Return tanh(value) in Q0.31, for at most 4 integer bits."""
    if value == 0:
        return 0
    # One more integer bit doubles the number, because tanh(x) is a function of exp(-2 * x).
    magnitude = one_minus_over_one_plus(exp_on_negative(-abs(value), integer_bits + 1))
    return magnitude if value > 0 else -magnitude


def inverse_square_root(value: int) -> tuple[int, int]:
    """Return 1 / sqrt(value) as the multiplier and shift of a factor; 0 is treated like 1.

    TFLite's GetInvSqrtQuantizedMultiplierExp: five steps of Newton's iteration in Q3.28.
    """
    if value <= 1:
        return INT32_MAX, 0
    right_shift = 11
    while value >= 1 << 29:
        value //= 4
        right_shift += 1
    pairs = (32 - value.bit_length() - 1) // 2 - 1
    right_shift -= pairs
    value <<= 2 * pairs
    half = round_shift_right(value >> 1, 1)
    x = 1 << 28
    for _ in range(5):
        cube = multiply_by_power(multiply(multiply(x, x), x), 6)
        x = multiply_by_power(multiply((1 << 28) + (1 << 27), x) - multiply(half, cube), 3)
    multiplier = multiply(x, _HALF_SQRT_2)
    if right_shift < 0:
        return multiplier << -right_shift, 0
    return multiplier, -right_shift
