"""The constants of quantized operators by the names that TFLite gives them."""

import numpy as np

from usmp.ops.quantized.describe import reference_constants
from usmp.ops.quantized.pack_channels import unpack_channels
from usmp.ops.record import QuantizedOp

WEIGHT = np.array([[1, 2], [3, 4], [5, 6]], np.int8)


def words(record: int) -> list[int]:
    return [record >> 16 * i & 0xFFFF for i in range(3)]


def packed(**constants) -> QuantizedOp:
    return QuantizedOp("fully_connected", (), (), {}, constants)


def arrays(named):
    return {name: (str(value.dtype), value.tolist()) for name, value in named}


def test_a_record_of_48_bits():
    """From the lowest bit: 20 bits of the multiplier after its highest, 3 of the shift, bias."""
    first = 5 | 2 << 20 | 77 << 23
    second = 0xFFFFF | 0 << 20 | (-1 & (1 << 25) - 1) << 23
    records = [np.array([words(first), words(second)], np.uint16)]
    bias, multiplier, shift = unpack_channels(records, 48, 20, 3, -4)
    assert bias.tolist() == [77, -1]
    assert multiplier.tolist() == [(1 << 30) + (5 << 10), (1 << 30) + (0xFFFFF << 10)]
    assert shift.tolist() == [-6, -4]


def test_a_record_of_56_bits():
    record = 3 | 1 << 30 | (-(1 << 24) & (1 << 25) - 1) << 31
    records = [np.array([words(record)], np.uint16), np.array([record >> 48], np.uint8)]
    bias, multiplier, shift = unpack_channels(records, 56, 30, 1, 0)
    assert (bias.tolist(), multiplier.tolist(), shift.tolist()) == (
        [-(1 << 24)],
        [(1 << 30) + 3],
        [-1],
    )


def test_one_factor_for_all_channels_and_no_bias():
    record = packed(has_bias=False, channels=3, multiplier=1 << 30, shift=-7)
    named = reference_constants(record, [WEIGHT])
    assert arrays(named) == {
        "weight": ("int8", WEIGHT.tolist()),
        "bias": ("int32", [0, 0, 0]),
        "multiplier": ("int32", [1 << 30] * 3),
        "shift": ("int32", [-7] * 3),
    }


def test_plain_arrays():
    constants = [
        WEIGHT,
        np.array([1, -2, 3], np.int16),
        np.array([5, 6, 7], np.int32),
        np.array([-1, -2, -3], np.int8),
    ]
    named = reference_constants(packed(has_bias=True, channels=3), constants)
    assert arrays(named) == {
        "weight": ("int8", WEIGHT.tolist()),
        "bias": ("int32", [1, -2, 3]),
        "multiplier": ("int32", [5, 6, 7]),
        "shift": ("int32", [-1, -2, -3]),
    }


def test_a_bias_of_64_bits_stays_wide():
    record = packed(has_bias=True, channels=3, multiplier=1 << 30, shift=0)
    bias = np.array([1 << 40, 0, -1], np.int64)
    named = reference_constants(record, [WEIGHT, bias])
    assert arrays(named)["bias"] == ("int64", bias.tolist())


def test_constants_of_which_nothing_is_known():
    table = np.arange(4)
    for record in (None, QuantizedOp("tanh", (), ())):
        assert reference_constants(record, [table]) == [("constant", table)]
