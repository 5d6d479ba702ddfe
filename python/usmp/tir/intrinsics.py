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
"""(int32 value, int32 multiplier, int32 shift) -> int32: the product as float32 gives it, rounded
to the nearest integer, halves to the even one; of the multiplier only the highest 24 bits are not
zero, the shift is at most 7, and the result is exact if it has less than 10 bits."""

MULTIPLY_BY_FLOAT = "tvmgen_multiply_by_float"
"""(int32 value, int32 factor) -> int32: the same of a factor that is a float32 greater than 0 and
less than 128, of which the bits are given."""

RESCALE_CHANNEL = "tvmgen_rescale_channel"
"""(int32 accumulator, uint16 low, uint16 middle, uint32 high, int32 record bits, int32 mantissa
bits, int32 shift bits, int32 shift) -> int32: bias and factor come from a channel's record."""

RESCALE_RECORD = "tvmgen_rescale_record"
"""(int32 accumulator, int32 multiplier, int32 shift, int32 rounding) -> int32: rescaled twice, and
the zero point added; of `shift` the lowest byte counts, from 1 to 22, rounding is twice the zero
point and 1 more, the accumulator is less than 2**30, and the multiplier at least that."""

MULTIPLY_HIGH = "tvmgen_multiply_high"
"""(int32 value, int32 multiplier) -> int32: the product over 2**31, rounded to nearest; the value
is less than 2**30, and the multiplier at least that."""

SATURATE_INT8 = "tvmgen_saturate_int8"
"""(int32 value) -> int32: the nearest number of 8 bits."""

LEADING_ZEROS = "tvmgen_leading_zeros"
"""(int32 value) -> int32: how many of its highest bits are zero."""

ONE_OVER_ONE_PLUS = "tvmgen_one_over_one_plus"
"""(int32 value) -> int32: 1 / (1 + value) of a number of [0, 1] in 31 fractional bits."""

DIVIDE = "tvmgen_divide"
"""(int32 dividend, int32 divisor, int32 multiplier, int32 shift) -> int32: the quotient times a
factor, of numbers of at most 9 bits; a divisor of 0 counts as 1."""

INVERSE_SQUARE_ROOT = "tvmgen_inverse_square_root"
"""(int32 value) -> int32: the multiplier of the factor 1 / sqrt(value); that of 0 is that of 1."""

INVERSE_SQUARE_ROOT_SHIFT = "tvmgen_inverse_square_root_shift"
"""(int32 value) -> int32: the shift of the factor 1 / sqrt(value)."""

LOGARITHM = "tvmgen_logarithm"
"""(int32 value) -> int32: the logarithm, in 26 fractional bits, of 1 and more in 19."""

SIGMOID_INDEX = "tvmgen_sigmoid_index"
"""(int32 argument, int32 bits, int32 next) -> int32: which entry of a table of 256 sigmoids is at
or before the magnitude of the argument, which has that many bits between two entries; with `next`
1, the entry after it."""

INTERPOLATED_LOGISTIC = "tvmgen_interpolated_logistic"
"""(int32 argument, uint16 low, uint16 high) -> int32: between two such entries, in 15 fractional
bits."""

INTERPOLATED_TANH = "tvmgen_interpolated_tanh"
"""(int32 argument, uint16 low, uint16 high) -> int32: between two such entries, in 15 fractional
bits."""


def arithmetic_function(operation: str, dtype: str) -> str:
    """(dtype, dtype) -> dtype: an operation on integers that is defined for all of them.

    Parameters
    ----------
    operation
        "add", "subtract" and "multiply" wrap, and are of signed integers only.
        "divide" and "remainder" round to zero, "floor_divide" and "floor_modulo" down; what
        is divided by zero becomes 0. "shift_left" and "shift_right" take any count: one that is
        negative or too large moves all bits out.
    dtype
        int32 or int64, or uint32 or uint64, of which nothing needs to be rounded down.
    """
    return f"tvmgen_{operation}_{dtype}"


def conversion_function(target: str, source: str) -> str:
    """(float32 or float64) -> int32, int64 or uint64: rounded to zero; what is out of range becomes
    the nearest value, and NaN 0."""
    return f"tvmgen_{target}_of_{source}"


def size_function(operation: str) -> str:
    """(int64, int64) -> int64: arithmetic of sizes, in which what does not fit is the least number,
    and stays it.

    Parameters
    ----------
    operation
        "add", "subtract", "multiply" or "floor_divide".
    """
    return f"tvmgen_size_{operation}"


_LOW_BITS = "tvmgen_low_bits_as_"


def low_bits_function(target: str) -> str:
    """(an integer) -> an integer type that has its lowest bits: a conversion in C and LLVM."""
    return f"{_LOW_BITS}{target}"


def is_low_bits_function(name: str) -> bool:
    """Whether it is one of these."""
    return name.startswith(_LOW_BITS)
