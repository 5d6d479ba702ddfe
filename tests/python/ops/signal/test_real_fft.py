"""Fourier transforms of real numbers, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from support.relax_vm import computed
from usmp.ops.signal.real_fft import has_real_fft, irfft, rfft

generator = np.random.default_rng(0)

LENGTHS = {"2": 4, "3": 6, "4": 8, "5": 10, "3_4": 24}
"""Lengths by the radices of their butterflies."""


def spectrum_of(data, length):
    """(..., length + 2): real and imaginary part in turn."""
    spectrum = np.fft.rfft(data.astype(np.float64), length)
    return np.stack([spectrum.real, spectrum.imag], -1).reshape(*data.shape[:-1], length + 2)


def test_lengths_are_even_with_small_prime_factors():
    assert [n for n in range(25) if has_real_fft(n)] == [4, 6, 8, 10, 12, 16, 18, 20, 24]


@pytest.mark.parametrize("length", LENGTHS.values(), ids=LENGTHS)
def test_floats_are_transformed_and_back(length):
    data = generator.normal(size=(2, length)).astype(np.float32)
    spectrum, back = computed(
        lambda builder, data: [result := rfft(builder, data, length), irfft(builder, result)], data
    )
    np.testing.assert_allclose(spectrum, spectrum_of(data, length), atol=1e-5)
    np.testing.assert_allclose(back, data, atol=1e-6)


def test_rows_are_filled_up_with_zeros():
    data = generator.normal(size=(2, 1, 5)).astype(np.float32)
    (spectrum,) = computed(lambda builder, data: rfft(builder, data, 8), data)
    np.testing.assert_allclose(spectrum, spectrum_of(data, 8), atol=1e-5)


@pytest.mark.parametrize(("dtype", "tolerance"), [("int16", 3), ("int32", 4)])
@pytest.mark.parametrize("length", [12, 16])
def test_the_spectrum_of_integers_is_divided_by_the_length(dtype, tolerance, length):
    data = generator.integers(-(1 << 14), 1 << 14, (1, length)).astype(dtype)
    spectrum, back = computed(
        lambda builder, data: [result := rfft(builder, data, length), irfft(builder, result)], data
    )
    np.testing.assert_allclose(spectrum, spectrum_of(data, length) / length, atol=tolerance)
    expected = np.fft.irfft(spectrum[..., ::2] + 1j * spectrum[..., 1::2])
    np.testing.assert_allclose(back, expected, atol=tolerance)
