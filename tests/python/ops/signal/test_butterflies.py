"""Butterflies of Fourier transforms, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx

from support.relax_vm import computed
from usmp.ops.signal.butterflies import BUTTERFLIES
from usmp.ops.signal.complex_arithmetic import Arithmetic, Complex, Steps
from usmp.ops.statements import call_statements
from usmp.tir.nodes import sequence

FLOAT = Arithmetic("float32")


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("radix", BUTTERFLIES)
def test_a_butterfly_is_a_transform_of_so_many_numbers(radix, inverse):
    """Its roots are those of the inverse if it is one; it is not divided by the radix."""
    angles = (2 if inverse else -2) * np.pi * np.arange(1, radix) / radix
    roots = [
        Complex(*(tirx.FloatImm("float32", float(part(angle))) for part in (np.cos, np.sin)))
        for angle in angles
    ]

    def body(data, output):
        steps = Steps(FLOAT)
        numbers = [FLOAT.complex(data, index) for index in range(radix)]
        results = BUTTERFLIES[radix](steps, numbers, roots, inverse)
        stores = [s for at, value in enumerate(results) for s in FLOAT.stores(output, value, at)]
        return sequence([*steps.statements, *stores])

    def function(builder, data):
        return call_statements(builder, "butterfly", body, [("data", data)], [("output", data.ty)])

    data = np.random.default_rng(0).normal(size=2 * radix).astype(np.float32)
    numbers = data[::2] + 1j * data[1::2]
    expected = np.fft.ifft(numbers) * radix if inverse else np.fft.fft(numbers)
    (output,) = computed(function, data)
    np.testing.assert_allclose(output[::2] + 1j * output[1::2], expected, atol=1e-6)
