"""Records rescale as TFLite does, wherever they are made."""

from __future__ import annotations

import numpy as np
import pytest

from usmp.ops.kernels.call.rescale_records import rescale_records
from usmp.ops.quantized.rescaling.accumulators import AccumulatorRange
from usmp.ops.quantized.rescaling.fixed_point import QuantizedMultiplier


def rescaled(accumulator: int, record: list[int], zero_point: int) -> int:
    """What C computes from a record, in Python's integers."""
    right = record[1] & 255
    value = (2 * accumulator * record[0] + (1 << 31)) >> 32
    value += -1 if value < 0 else 0
    value += ((2 * zero_point + 1) << right) >> 1
    assert all(-(2**31) <= v < 2**31 for v in (2 * accumulator, value))
    return value >> right


def range_of(*ends: int) -> AccumulatorRange:
    """The same ends for each channel."""
    least, greatest = ends
    return AccumulatorRange(np.array([least]), np.array([greatest]))


MOST = 2**30 - 1


@pytest.mark.parametrize("shift", [1, 2, 7, 21, 22])
def test_as_tflite_rounds(shift):
    generator = np.random.default_rng(shift)
    for _ in range(300):
        multiplier = int(generator.integers(2**30, 2**31))
        zero_point = int(generator.integers(-128, 256))
        bias = int(generator.integers(-(2**23) + 1, 2**23))
        made = rescale_records(
            np.array([bias]), np.array([multiplier]), np.array([-shift]), range_of(-MOST, MOST)
        )
        assert made is not None
        (record,) = made.values.tolist()
        assert not made.has_wide_bias
        assert record[1] >> 8 == bias
        halves = [(2 * n + 1) * 2 ** (shift + 30) // multiplier for n in range(-3, 3)]
        drawn = generator.integers(-MOST, MOST, 20, endpoint=True).tolist()
        for accumulator in (*drawn, *halves, -MOST, MOST, 0, 1, -1):
            if abs(accumulator) <= MOST:
                wanted = QuantizedMultiplier(multiplier, -shift).apply(accumulator) + zero_point
                assert rescaled(accumulator, record, zero_point) == wanted


def test_a_bias_of_more_than_24_bits_is_an_integer_of_its_own():
    ends = (np.array([2**30]), np.array([-9]), range_of(-MOST, MOST))
    for bias, columns in ((2**23 - 1, 2), (2**23, 3), (1 - 2**23, 2), (-(2**23), 3)):
        made = rescale_records(np.array([bias]), *ends)
        assert made is not None
        assert made.values.shape == (1, columns)
        assert made.values[0, -1] >> (8 if columns == 2 else 0) == bias
        assert made.values[0, 1] & 255 == 9


@pytest.mark.parametrize(
    ("shift", "ends"),
    [
        (0, (-5, 5)),
        (1, (-5, 5)),
        (-23, (-5, 5)),
        (-9, (-(2**30), 5)),
        (-9, (-5, 2**30)),
    ],
)
def test_none_where_the_rescaling_would_not_be_exact(shift, ends):
    arguments = (np.array([0]), np.array([2**30]), np.array([shift]))
    assert rescale_records(*arguments, range_of(*ends)) is None


def test_none_if_the_bias_leaves_32_bits():
    bias = np.array([2**31])
    assert rescale_records(bias, np.array([2**30]), np.array([-9]), range_of(-5, 5)) is None
