"""Records of 48 and 56 bits give the outputs that plain biases, multipliers and shifts give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from usmp.ops.kernels.constants.pack_channels import PackedChannels, pack_channels
from usmp.ops.quantized import OutputLimits, Quantization, Rescale, quantize_multiplier
from usmp.ops.quantized.rescaling.accumulators import AccumulatorRange, accumulator_range

DATA = Quantization("int8", (0.02,), (-5,))


def rescale_of(factors: np.ndarray, zero_point: int = 3) -> Rescale:
    multipliers = tuple(quantize_multiplier(float(factor)) for factor in factors)
    output = Quantization("int8", (1.0,), (zero_point,))
    return Rescale(multipliers, output, OutputLimits("int8", -128, 127))


def packed_of(
    bias: np.ndarray | None, rescale: Rescale, accumulators: AccumulatorRange
) -> PackedChannels | None:
    limits, factors = rescale.limits, rescale.factors
    multiplier = np.array([factor.multiplier for factor in factors], np.int64)
    shift = np.array([factor.shift for factor in factors], np.int64)
    biases = np.zeros(len(factors), np.int64) if bias is None else bias.astype(np.int64)
    ends = limits.minimum - rescale.zero_point, limits.maximum - rescale.zero_point
    return pack_channels(biases, multiplier, shift, ends, accumulators)


def decode(packed: PackedChannels, channel: int) -> tuple[int, int, int]:
    """Bias, multiplier and shift, read bit by bit."""
    words, *rest = packed.records
    bits = "".join(f"{int(word):016b}" for word in words[channel][::-1])
    if rest:
        bits = f"{int(rest[0][channel]):08b}{bits}"
    assert len(bits) == packed.record_bits
    end = len(bits) - packed.mantissa_bits
    start = end - packed.shift_bits
    bias, less, mantissa = bits[:start], bits[start:end], bits[end:]
    multiplier = int("1" + mantissa, 2) << (30 - packed.mantissa_bits)
    value = int(bias, 2) - (1 << len(bias) if bias[0] == "1" else 0)
    return value, multiplier, packed.shift - int(less or "0", 2)


def output(value: int, multiplier: int, shift: int, rescale: Rescale) -> int:
    """TFLite's MultiplyByQuantizedMultiplier, in the words of its definition, and the clamp."""
    product = value * multiplier
    nudge = 1 << 30 if product >= 0 else 1 - (1 << 30)
    quotient = abs(product + nudge) >> 31
    high = quotient if product + nudge >= 0 else -quotient
    magnitude = abs(high) + (1 << -shift >> 1)
    scaled = (magnitude >> -shift) * (1 if high >= 0 else -1)
    limits = rescale.limits
    return min(max(scaled + rescale.zero_point, limits.minimum), limits.maximum)


def assert_same_outputs(
    packed: PackedChannels,
    bias: np.ndarray,
    rescale: Rescale,
    accumulators: AccumulatorRange,
    seed: int,
) -> None:
    generator = np.random.default_rng(seed)
    for channel, factor in enumerate(rescale.factors):
        added, multiplier, shift = decode(packed, channel)
        plain = packed.bias[channel], packed.multiplier[channel], packed.shifts[channel]
        assert plain == (added, multiplier, shift)
        least = int(accumulators.least[channel]) - int(bias[channel])
        greatest = int(accumulators.greatest[channel]) - int(bias[channel])
        samples = [least, greatest, *generator.integers(least, greatest, 300, endpoint=True)]
        for accumulator in map(int, samples):
            expected = output(
                accumulator + int(bias[channel]), factor.multiplier, factor.shift, rescale
            )
            taken = 0 if packed.is_constant[channel] else accumulator
            assert output(taken + added, multiplier, shift, rescale) == expected


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_outputs_are_the_same(seed):
    generator = np.random.default_rng(seed)
    channels, taps = generator.integers(1, 12), generator.integers(1, 200)
    weight = generator.integers(-127, 128, (channels, taps)).astype(np.int8)
    bias = (generator.normal(size=channels) * 2.0 ** generator.integers(4, 22)).astype(np.int32)
    typical = 30 / (taps**0.5 * 70 * 70)
    factors = typical * 2.0 ** generator.uniform(-generator.integers(0, 12), 1, channels)
    rescale = rescale_of(factors, int(generator.integers(-128, 128)))
    accumulators = accumulator_range(weight, bias, DATA, "int32")
    packed = packed_of(bias, rescale, accumulators)
    if packed is not None:
        assert_same_outputs(packed, bias, rescale, accumulators, seed)


@pytest.mark.parametrize(("bias_bits", "record_bits"), [(15, 48), (18, 48), (22, 56)])
def test_ordinary_layers_are_packed(bias_bits, record_bits):
    generator = np.random.default_rng(0)
    weight = generator.integers(-127, 128, (64, 72)).astype(np.int8)
    bias = generator.integers(-(2**bias_bits), 2**bias_bits, 64).astype(np.int32)
    rescale = rescale_of(generator.uniform(10, 60, 64) * 2.0**-bias_bits)
    accumulators = accumulator_range(weight, bias, DATA, "int32")
    packed = packed_of(bias, rescale, accumulators)
    assert packed is not None
    assert sum(r.nbytes for r in packed.records) == 64 * packed.record_bits // 8
    assert packed.record_bits == record_bits
    assert not packed.is_constant.any()
    assert_same_outputs(packed, bias, rescale, accumulators, 1)


def test_a_channel_that_never_moves_the_output_gets_an_ordinary_factor():
    weight = np.full((2, 9), 100, np.int8)
    bias = np.array([50, 2**30], np.int32)
    rescale = rescale_of(np.array([0.002, 40 / 2**30]))
    accumulators = accumulator_range(weight, bias, DATA, "int32")
    packed = packed_of(bias, rescale, accumulators)
    assert packed is not None
    assert packed.is_constant.tolist() == [False, True]
    added, multiplier, shift = decode(packed, 1)
    assert output(added, multiplier, shift, rescale) == 43
    assert_same_outputs(packed, bias, rescale, accumulators, 2)


def test_multipliers_that_cannot_be_shortened_stay():
    """A range so large, of which so many outputs are reached, that every bit counts."""
    weight = np.full((8, 60000), 127, np.int8)
    bias = np.full(8, 2**27, np.int32)
    rescale = rescale_of(np.linspace(1.1e-7, 1.9e-7, 8))
    accumulators = accumulator_range(weight, bias, DATA, "int32")
    assert packed_of(bias, rescale, accumulators) is None


def test_factors_of_one_and_more_stay():
    weight = np.full((2, 1), 3, np.int8)
    rescale = rescale_of(np.array([1.5, 0.1]))
    accumulators = accumulator_range(weight, None, DATA, "int32")
    assert packed_of(None, rescale, accumulators) is None
