"""Noise, gain and logarithm of the channels of a filter bank."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from support.relax_vm import computed, load_fixed_point_functions
from usmp.ops.signal.channels import (
    GAIN_TABLE_SIZE,
    Smoothing,
    gain_control,
    logarithm,
    spectral_subtraction,
)

SMOOTHING = Smoothing((4, 2), (12, 14), 1, 4, 3, False)
"""Even channels follow by a quarter, odd ones by an eighth; a sixteenth of the signal is left."""


@pytest.mark.parametrize("is_clamped", [False, True])
@pytest.mark.parametrize("is_same", [False, True])
def test_noise_is_followed_and_taken_from_the_signal(is_clamped, is_same):
    smoothing = replace(SMOOTHING, is_clamped=is_clamped)
    if is_same:
        smoothing = replace(smoothing, factors=(4, 4), complements=(12, 12))
    data = np.array([100, 100, 7, 7, 0, 3, 160], np.uint32)
    estimate = np.array([80, 80, 1600, 1600, 32, 31, 10**6], np.uint32)
    result, noise = computed(
        lambda builder, *inputs: spectral_subtraction(builder, *inputs, smoothing), data, estimate
    )
    results, estimates = [], []
    for channel, (value, old) in enumerate(zip(data.tolist(), estimate.tolist(), strict=True)):
        by = smoothing.factors[channel % 2]
        new = (value * 8 * by + old * (16 - by)) // 16
        below = min(new, value * 8)
        estimates.append(below if is_clamped else new)
        results.append(max((value * 8 - below) // 8, value // 16))
    assert noise.tolist() == estimates
    assert result.tolist() == results


def gain_at(noise, table):
    """The function of TensorFlow's micro frontend, in integers of any size."""
    if noise <= 2:
        return table[noise]
    bits = noise.bit_length()
    start, slope, square = table[4 * bits - 6 : 4 * bits - 3]
    position = (noise << 11 >> bits) & 1023
    bent = (square * position >> 5) + (slope << 5)
    return start + ((bent * position + (1 << 14)) >> 15)


@pytest.mark.cc
def test_gains_depend_on_the_noise_by_a_polynomial_between_powers_of_two():
    load_fixed_point_functions()
    generator = np.random.default_rng(0)
    table = generator.integers(1, 4000, GAIN_TABLE_SIZE).astype(np.int16)
    noise = [0, 1, 2, 3, 4, 7, 8, 100, 1023, 1024, 2047, 2048, 5000, 10**6, 2**31, 2**32 - 1]
    data = [2**16, 2**14 + 5, 2**20, 3, *generator.integers(2**12, 2**20, len(noise) - 4).tolist()]
    (output,) = computed(
        lambda builder, *inputs: gain_control(builder, *inputs, shift=10),
        np.array(data, np.uint32),
        np.array(noise, np.uint32),
        table,
    )
    ratios = [
        value * gain_at(each, table.tolist()) >> 10 for value, each in zip(data, noise, strict=True)
    ]
    shrunk = [r * r >> 20 if r < 2 << 12 else (r >> 6) - 64 for r in ratios]
    assert output.tolist() == shrunk
    assert min(ratios) < 2 << 12 < max(ratios)


@pytest.mark.cc
def test_ratios_below_2_are_squared():
    """x * x / 4 below 2 and x - 1 from 2 on, of 12 fractional bits, in 6 ones."""
    load_fixed_point_functions()
    data = np.array([1 << 12, (2 << 12) - 1, 2 << 12, 3 << 12], np.uint32)
    table = np.ones(GAIN_TABLE_SIZE, np.int16)
    zeros = np.zeros(4, np.uint32)
    (output,) = computed(
        lambda builder, *inputs: gain_control(builder, *inputs, shift=0), data, zeros, table
    )
    assert output.tolist() == [16, 63, 64, 128]


@pytest.mark.cc
def test_negative_gains_fill_the_upper_bits():
    load_fixed_point_functions()
    table = np.full(GAIN_TABLE_SIZE, -1, np.int16)
    data, zeros = np.array([1 << 16], np.uint32), np.zeros(1, np.uint32)
    (output,) = computed(
        lambda builder, *inputs: gain_control(builder, *inputs, shift=16), data, zeros, table
    )
    assert output.tolist() == [((2**32 - 1) >> 6) - 64]


@pytest.mark.cc
def test_natural_logarithms_are_scaled_and_saturated():
    """Between the segments of the table, results are a bit too small, as in the reference."""
    load_fixed_point_functions()
    values = [
        1,
        2,
        3,
        5,
        100,
        129,
        254,
        255,
        1000,
        32767,
        32768,
        65535,
        65536,
        65537,
        10**6,
        10**9,
        2**31,
    ]
    data = np.array(values, np.uint32)
    for shift, scale in ((0, 1000), (1, 64)):
        (output,) = computed(
            lambda builder, data, by=shift, scale=scale: logarithm(builder, data, by, scale), data
        )
        inputs = [value << shift & (2**32 - 1) for value in values]
        exact = [scale * math.log(value) if value else 0 for value in inputs]
        np.testing.assert_allclose(output, exact, atol=0.5 + 0.0035 * scale)
        lower_bits = [value & (1 << max(value.bit_length() - 8, 0)) - 1 for value in inputs]
        on_ends = [index for index, rest in enumerate(lower_bits) if rest == 0]
        assert [int(output[index]) for index in on_ends] == [round(exact[i]) for i in on_ends]
    (output,) = computed(
        lambda builder, data: logarithm(builder, data, 0, 10_000), np.array([0, 26, 27], np.uint32)
    )
    assert output.tolist() == [0, 32581, 32767]
