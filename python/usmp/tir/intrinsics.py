"""Names of the fixed-point functions that operators call and the code generator defines."""

MULTIPLY_BY_QUANTIZED_MULTIPLIER = "tvmgen_multiply_by_quantized_multiplier"
"""(int32 value, int32 multiplier, int32 shift) -> int32, rounded twice."""

MULTIPLY_BY_QUANTIZED_MULTIPLIER_64 = "tvmgen_multiply_by_quantized_multiplier_64"
"""(int64 value, int32 multiplier, int32 shift) -> int32, rounded once."""

MULTIPLY_BY_QUANTIZED_MULTIPLIER_SINGLE_ROUNDING = (
    "tvmgen_multiply_by_quantized_multiplier_single_rounding"
)
"""(int32 value, int32 multiplier, int32 shift) -> int32, rounded once."""

MULTIPLY_AS_FLOAT = "tvmgen_multiply_as_float"
"""(int32 value, int32 multiplier, int32 shift) -> int32: the product in float32, rounded half to
even. Only the highest 24 bits of the multiplier may be set, and the shift is at most 7. A result
with less than 10 bits is exact."""

MULTIPLY_BY_FLOAT = "tvmgen_multiply_by_float"
"""(int32 value, int32 factor) -> int32: like `MULTIPLY_AS_FLOAT`, where `factor` has the bits of a
float32 greater than 0 and less than 128."""

RESCALE_CHANNEL = "tvmgen_rescale_channel"
"""(int32 accumulator, uint16 low, uint16 middle, uint32 high, int32 record bits, int32 mantissa
bits, int32 shift bits, int32 shift) -> int32: bias and factor are packed in a channel's record."""

RESCALE_RECORD = "tvmgen_rescale_record"
"""(int32 accumulator < 2**30, int32 multiplier >= 2**30, int32 shift, int32 rounding) -> int32: the
accumulator, rescaled with two roundings, plus the zero point. The lowest byte of `shift` is from 1
to 22, and `rounding` is twice the zero point plus 1."""

MULTIPLY_HIGH = "tvmgen_multiply_high"
"""(int32 value < 2**30, int32 multiplier >= 2**30) -> int32: the product / 2**31, rounded."""

SATURATE_INT8 = "tvmgen_saturate_int8"
"""(int32 value) -> int32: the nearest int8."""

LEADING_ZEROS = "tvmgen_leading_zeros"
"""(int32 value) -> int32: the number of leading zero bits."""

ONE_OVER_ONE_PLUS = "tvmgen_one_over_one_plus"
"""(int32 value) -> int32: 1 / (1 + value) of a value in [0, 1], with 31 fractional bits."""

DIVIDE = "tvmgen_divide"
"""(int32 dividend, int32 divisor, int32 multiplier, int32 shift) -> int32: the quotient of numbers
of at most 9 bits, times a fixed-point multiplier; a divisor of 0 is treated as 1."""

INVERSE_SQUARE_ROOT = "tvmgen_inverse_square_root"
"""(int32 value) -> int32: the multiplier of the factor 1 / sqrt(value); 0 is treated as 1."""

INVERSE_SQUARE_ROOT_SHIFT = "tvmgen_inverse_square_root_shift"
"""(int32 value) -> int32: the shift of the factor 1 / sqrt(value)."""

LOGARITHM = "tvmgen_logarithm"
"""(int32 value) -> int32: the natural logarithm, with 26 fractional bits, of a value of at least 1
with 19 fractional bits."""

SIGMOID_INDEX = "tvmgen_sigmoid_index"
"""(int32 argument, int32 bits, int32 next) -> int32: the index of the last entry at or before the
argument's magnitude, in a table of 256 sigmoids with 2**bits arguments per entry; the index of the
entry after it if `next` is 1."""

INTERPOLATED_LOGISTIC = "tvmgen_interpolated_logistic"
"""(int32 argument, uint16 low, uint16 high) -> int32: the logistic function, interpolated between
two entries of the table, with 15 fractional bits."""

INTERPOLATED_TANH = "tvmgen_interpolated_tanh"
"""(int32 argument, uint16 low, uint16 high) -> int32: the hyperbolic tangent, interpolated between
two entries of the table, with 15 fractional bits."""


def arithmetic_function(operation: str, dtype: str) -> str:
    """Return the name of a function (dtype, dtype) -> dtype, which is defined for all integers.

    Parameters
    ----------
    operation
        "add", "subtract" and "multiply" wrap, and take signed integers only. "divide" and
        "remainder" round to zero, "floor_divide" and "floor_modulo" down; division by zero gives 0.
        "shift_left" and "shift_right" take any count: a negative or too large one moves all bits
        out.
    dtype
        int32, int64, uint32 or uint64; there are no "floor" operations for unsigned integers.
    """
    return f"tvmgen_{operation}_{dtype}"


def conversion_function(target: str, source: str) -> str:
    """Return the name of a function (float32 or float64) -> int32, int64 or uint64.

    It rounds to zero, saturates, and converts NaN to 0."""
    return f"tvmgen_{target}_of_{source}"


def size_function(operation: str) -> str:
    """Return the name of a function (int64, int64) -> int64 for sizes.

    An operation that overflows, or on the smallest int64, returns the smallest int64.

    Parameters
    ----------
    operation
        "add", "subtract", "multiply" or "floor_divide".
    """
    return f"tvmgen_size_{operation}"


_LOW_BITS = "tvmgen_low_bits_as_"


def low_bits_function(target: str) -> str:
    """Return the name of a function that truncates an integer, as conversions in C and LLVM do."""
    return f"{_LOW_BITS}{target}"


def is_low_bits_function(name: str) -> bool:
    """Return whether a name is one of `low_bits_function`."""
    return name.startswith(_LOW_BITS)
