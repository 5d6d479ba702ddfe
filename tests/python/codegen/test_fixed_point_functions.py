"""The C functions of quantized operators against the same in Python's integers."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest

from support.compilers import require, run_compiler
from usmp.codegen.c.helpers import Helpers
from usmp.codegen.c.source_files import C_INTRINSICS, text_of
from usmp.ops.quantized.rescaling import gemmlowp
from usmp.ops.quantized.rescaling.fixed_point import QuantizedMultiplier, Rounding
from usmp.ops.quantized.rescaling.rescaled_arrays import rescaled
from usmp.tir.intrinsics import (
    DIVIDE,
    INVERSE_SQUARE_ROOT,
    INVERSE_SQUARE_ROOT_SHIFT,
    LEADING_ZEROS,
    LOGARITHM,
    MULTIPLY_AS_FLOAT,
    MULTIPLY_BY_QUANTIZED_MULTIPLIER,
    ONE_OVER_ONE_PLUS,
)

pytestmark = pytest.mark.cc


@pytest.fixture(scope="module")
def intrinsics(tmp_path_factory) -> ctypes.CDLL:
    """All of them in a shared library, in which undefined behavior ends the process."""
    require("gcc")
    helpers = Helpers()
    for name in C_INTRINSICS:
        helpers.intrinsic(name)
    folder = tmp_path_factory.mktemp("intrinsics")
    functions = "\n".join(helpers.definitions.values()).replace("static inline ", "")
    features = text_of("tensor_intrin/features.h")
    (folder / "all.c").write_text("\n".join(["#include <stdint.h>", features, functions]))
    flags = ["-std=c99", "-O1", "-shared", "-fPIC", "-fsanitize=undefined"]
    trap = ["-fsanitize-undefined-trap-on-error", "-fno-sanitize=shift"]
    run_compiler(["gcc", *flags, *trap, "-Wall", "-Werror", "-o", "all.so", "all.c"], cwd=folder)
    return ctypes.CDLL(str(folder / "all.so"))


def magnitudes(count: int, seed: int) -> list[int]:
    """Positive int32 of every number of bits, and the powers of two with their neighbors."""
    generator = np.random.default_rng(seed)
    drawn = np.exp2(generator.uniform(0, 31, count)).astype(np.int64)
    edges = [(1 << bit) + step for bit in range(31) for step in (-1, 0, 1)]
    return [int(v) for v in [*drawn, *edges, 2**31 - 1] if 0 < v < 2**31]


def test_multiply(intrinsics):
    for value, seed in zip(magnitudes(2000, 0), range(10**6), strict=False):
        generator = np.random.default_rng(seed)
        multiplier = int(generator.integers(2**30, 2**31))
        shift = int(generator.integers(-31, 31))
        for signed in (value, -value):
            expected = QuantizedMultiplier(multiplier, shift).apply(signed)
            actual = intrinsics[MULTIPLY_BY_QUANTIZED_MULTIPLIER](signed, multiplier, shift)
            assert actual == expected, (signed, multiplier, shift)


def test_multiply_as_float(intrinsics):
    generator, most = np.random.default_rng(3), 2.0**31 - 1
    shift = generator.integers(-31, 8, 3000)
    multiplier = generator.integers(2**23, 2**24, len(shift)) << 7
    multiplier[::3] = 2**30
    factor = multiplier * 2.0 ** (shift - 31)
    value = generator.uniform(-1, 1, len(shift)) * np.minimum(500 / factor, most)
    # Most of them near halves, where it makes a difference that a float has 24 bits.
    near = np.rint((np.floor(value * factor) + 0.5) / factor) + generator.integers(
        -1, 2, len(shift)
    )
    value = np.clip(np.where(generator.random(len(shift)) < 0.8, near, value), -most, most)
    given = value.astype(np.int64), multiplier, shift
    expected = rescaled(*given, Rounding.AS_FLOAT)
    actual = [
        intrinsics[MULTIPLY_AS_FLOAT](*row)
        for row in zip(*map(np.ndarray.tolist, given), strict=True)
    ]
    np.testing.assert_array_equal(actual, expected)
    once = rescaled(*given, Rounding.ONCE)
    assert 0.1 < np.mean(once != expected) < 0.5


def test_leading_zeros(intrinsics):
    function = intrinsics[LEADING_ZEROS]
    assert [function(v) for v in (0, 1, 255, 256, 2**31 - 1, -1)] == [32, 31, 24, 23, 1, 0]


def test_reciprocal(intrinsics):
    for value in [0, *magnitudes(2000, 1)]:
        assert intrinsics[ONE_OVER_ONE_PLUS](value) == gemmlowp.one_over_one_plus(value)


def test_inverse_square_root(intrinsics):
    for value in [0, *magnitudes(2000, 2)]:
        actual = (
            intrinsics[INVERSE_SQUARE_ROOT](value),
            intrinsics[INVERSE_SQUARE_ROOT_SHIFT](value),
        )
        assert actual == gemmlowp.inverse_square_root(value)


def test_logarithm(intrinsics):
    for value in [v for v in magnitudes(5000, 3) if v >= 2**19]:
        exact = math.log(value / 2**19)
        assert intrinsics[LOGARITHM](value) / 2**26 == pytest.approx(exact, abs=1e-7)


@pytest.mark.slow
def test_quotient_is_the_nearest_or_its_neighbor(intrinsics):
    factor = QuantizedMultiplier(1717986918, 5)
    for dividend in range(-255, 256, 3):
        for divisor in [v for v in range(-255, 256, 2) if v]:
            exact = dividend / divisor * 25.6
            actual = intrinsics[DIVIDE](dividend, divisor, factor.multiplier, factor.shift)
            assert abs(actual - exact) <= 0.5001, (dividend, divisor)


def test_quotient_by_zero_is_that_by_one(intrinsics):
    assert [intrinsics[DIVIDE](x, 0, 2**30, 1) for x in (-9, 0, 7)] == [-9, 0, 7]
