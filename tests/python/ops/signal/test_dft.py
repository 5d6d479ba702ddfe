"""Discrete Fourier transforms of any length, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from support.relax_vm import computed
from usmp.ops.signal.dft import dft, is_fast

generator = np.random.default_rng(0)


def random_floats(*shape):
    return generator.normal(size=shape).astype(np.float32)


def as_complex(data):
    return data[..., 0] + (1j * data[..., 1] if data.shape[-1] == 2 else 0)


def as_pairs(numbers):
    return np.stack([numbers.real, numbers.imag], -1)


def transformed(data, length, inverse, onesided):
    return computed(
        lambda builder, data: builder.emit(
            dft(builder, data, length, inverse=inverse, onesided=onesided)
        ),
        data,
    )[0]


def test_transforms_of_real_numbers_are_fast_in_some_lengths():
    real, pairs = (relax.Var("x", relax.TensorType((2, 8, n), "float32")) for n in (1, 2))
    assert is_fast(real, 8, False)
    assert not is_fast(real, 8, True)
    assert not is_fast(real, 7, False)
    assert not is_fast(pairs, 8, False)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("length", [3, 5, 6, 8])
@pytest.mark.parametrize("onesided", [False, True])
def test_spectra(parts, length, onesided):
    """Of 6 numbers, cut or filled up with zeros; lengths 6 and 8 of real numbers are fast."""
    data = random_floats(2, 3, 6, parts)
    expected = np.fft.fft(as_complex(data), length)
    expected = expected[..., : length // 2 + 1] if onesided else expected
    result = transformed(data, length, False, onesided)
    np.testing.assert_allclose(result, as_pairs(expected), atol=1e-5)


@pytest.mark.parametrize("length", [3, 4, 6])
def test_inverse_transforms(length):
    data = random_floats(2, 4, 2)
    expected = np.fft.ifft(as_complex(data), length)
    np.testing.assert_allclose(
        transformed(data, length, True, False), as_pairs(expected), atol=1e-5
    )


@pytest.mark.parametrize("length", [4, 5, 6, 9])
def test_inverse_transforms_of_half_a_spectrum_are_real(length):
    data = random_floats(2, 4, 2)
    expected = np.fft.irfft(as_complex(data), length)
    np.testing.assert_allclose(
        transformed(data, length, True, True), expected[..., np.newaxis], atol=1e-5
    )
