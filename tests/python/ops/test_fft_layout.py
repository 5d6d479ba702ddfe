"""Factors, order and twiddles of Fourier transforms."""

from __future__ import annotations

import numpy as np
import pytest

from usmp.ops.signal.fft_layout import FftLayout, is_supported


@pytest.mark.parametrize(
    ("length", "radices"),
    [
        (2, [2]),
        (8, [4, 2]),
        (12, [4, 3]),
        (30, [2, 3, 5]),
        (100, [4, 5, 5]),
        (256, [4, 4, 4, 4]),
    ],
)
def test_factors_are_in_the_order_of_kissfft(length, radices):
    layout = FftLayout(length)
    assert [stage.radix for stage in layout.stages] == radices
    assert layout.stages[-1].length == layout.stages[0].stride == 1


def test_lengths_without_butterflies():
    assert [n for n in range(-3, 20) if not is_supported(n)] == [
        *range(-3, 2),
        *(7, 11, 13, 14, 17, 19),
    ]
    with pytest.raises(ValueError, match=r"^no Fourier transform of 7 complex numbers$"):
        FftLayout(7)


def test_twiddles_of_fixed_point_numbers_are_rounded_to_nearest():
    layout = FftLayout(8)
    assert layout.twiddles("int16")[:3].tolist() == [[32767, 0], [23170, -23170], [0, -32767]]
    assert layout.twiddles("int16", inverse=True)[1].tolist() == [23170, 23170]
    exact = np.exp(-2j * np.pi * np.arange(8) / 8)
    twiddles = layout.twiddles("float32")
    assert np.allclose(twiddles[:, 0] + 1j * twiddles[:, 1], exact, atol=1e-7)
    assert layout.real_twiddles("int32").shape == (4, 2)
