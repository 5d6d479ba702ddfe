"""Ranges of operators on elements, against each element computed by itself."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from support.sample_records import sample_record
from usmp.ops.quantized import Quantization, QuantizedMultiplier, quantize_multiplier
from usmp.ops.quantized.arithmetic import factors_of_sum
from usmp.ops.records import KINDS
from usmp.ops.records.elementwise import Relu
from usmp.relax.transform.channels.element_ranges import RANGES, scaled_ends

LEFT = Quantization("int8", (0.11,), (-7,))
RIGHT = Quantization("int8", (0.05,), (12,))
OUTPUT = Quantization("int8", (0.09,), (3,))
SPANS = [((-128, 127), (-128, 127)), ((-9, -3), (5, 30)), ((4, 4), (-2, -2))]


def ends(*spans: tuple[int, int]) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(np.array([low], np.int64), np.array([high], np.int64)) for low, high in spans]


def found(kind: str, inputs: tuple[Quantization, ...], *spans: tuple[int, int]) -> tuple[int, int]:
    record = sample_record(KINDS[kind], inputs, (OUTPUT,))
    least, greatest = RANGES[kind](record, ends(*spans))
    return int(least[0]), int(greatest[0])


def expected_sum(left: int, right: int, sign: int) -> int:
    factors, shift = factors_of_sum((LEFT, RIGHT, OUTPUT))
    first = factors[0].apply((left - LEFT.zero_point) << shift)
    second = factors[1].apply((right - RIGHT.zero_point) << shift)
    return factors[2].apply(first + sign * second) + OUTPUT.zero_point


@pytest.mark.parametrize(("kind", "sign"), [("add", 1), ("subtract", -1)])
@pytest.mark.parametrize("spans", SPANS)
def test_sums_and_differences(kind, sign, spans):
    results = [expected_sum(*pair, sign) for pair in product(*spans)]
    assert found(kind, (LEFT, RIGHT), *spans) == (min(results), max(results))


@pytest.mark.parametrize(("kind", "function"), [("maximum", max), ("minimum", min)])
@pytest.mark.parametrize("spans", SPANS)
def test_extremes(kind, function, spans):
    results = [function(pair) for pair in product(*spans)]
    assert found(kind, (LEFT, LEFT), *spans) == (min(results), max(results))


@pytest.mark.parametrize("kind", ["relu", "requantize"])
def test_another_scale(kind):
    factor = quantize_multiplier(LEFT.scale / OUTPUT.scale)
    for span in [(-128, 127), (5, 5)]:
        results = [factor.apply(value - LEFT.zero_point) + OUTPUT.zero_point for value in span]
        assert found(kind, (LEFT,), span) == (min(results), max(results))


def test_relu_of_uint8_divides_in_single_precision():
    """85 * 0.07 / 0.1 is between two integers."""
    before, after = Quantization("uint8", (0.07,), (0,)), Quantization("uint8", (0.1,), (0,))
    record = sample_record(Relu, (before,), (after,))
    least, greatest = RANGES["relu"](record, ends((85, 85)))
    assert (least.tolist(), greatest.tolist()) == ([59], [59])
    assert quantize_multiplier(0.07 / 0.1).apply(85) == 60


def test_a_clamp_has_the_range_that_it_is_given():
    assert found("clamp", (OUTPUT,), (-4, 5)) == (-4, 5)


def test_what_could_wrap_can_be_anything():
    least, greatest = scaled_ends(ends((-5, 200 << 20))[0], QuantizedMultiplier(1 << 30, 4))
    assert (least.tolist(), greatest.tolist()) == ([-(2**31)], [2**31 - 1])
