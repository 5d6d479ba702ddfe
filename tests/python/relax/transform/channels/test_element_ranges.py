"""Ranges of operators on elements, against each element computed by itself."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tvm import relax
from tvm.script import tirx as T

from usmp.ops import quantized
from usmp.ops.form import form_of
from usmp.ops.quantized import Quantization, Rounding, quantize_multiplier
from usmp.ops.quantized.arithmetic import factors_of_sum
from usmp.ops.records import operator_of
from usmp.relax.transform.channels.by_channel import by_channel
from usmp.relax.transform.channels.channel_operator import RecordedCall
from usmp.relax.transform.channels.channel_ranges import ChannelRanges
from usmp.relax.transform.channels.value_bounds import elementwise_ends, scaled_ends

LEFT = Quantization("int8", (0.11,), (-7,))
RIGHT = Quantization("int8", (0.05,), (12,))
OUTPUT = Quantization("int8", (0.09,), (3,))
SPANS = [((-128, 127), (-128, 127)), ((-9, -3), (5, 30)), ((4, 4), (-2, -2))]


def ends(*spans: tuple[int, int]) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(np.array([low], np.int64), np.array([high], np.int64)) for low, high in spans]


LIMITS = OUTPUT.limits()
MAKERS = {
    "add": lambda b, x: quantized.add(b, *x, (LEFT, RIGHT, OUTPUT), LIMITS),
    "subtract": lambda b, x: quantized.subtract(b, *x, (LEFT, RIGHT, OUTPUT), LIMITS),
    "maximum": lambda b, x: quantized.maximum(b, *x, LEFT),
    "minimum": lambda b, x: quantized.minimum(b, *x, LEFT),
    "relu": lambda b, x: quantized.relu(b, *x, LEFT, OUTPUT, LIMITS),
    "requantize": lambda b, x: quantized.requantize(b, *x, LEFT, OUTPUT),
    "clamp": lambda b, x: quantized.clamp(b, *x, LIMITS, OUTPUT),
}


def range_of(make, *spans: tuple[int, int], dtype: str = "int8") -> tuple[int, int]:
    """What an operator on single elements gives."""
    tensors = [relax.Var("x", relax.TensorType((1, 1), dtype)) for _ in spans]
    known = {
        tensor: ChannelRanges(1, np.array([low]), np.array([high]))
        for tensor, (low, high) in zip(tensors, spans, strict=True)
    }
    builder = relax.BlockBuilder()
    call = make(builder, tensors)
    func = builder.get()[call.args[0]]
    recorded = RecordedCall(builder.normalize(call), operator_of(func), func)
    output = by_channel(known, recorded).output
    return int(output.least[0]), int(output.greatest[0])


def found(kind: str, *spans: tuple[int, int]) -> tuple[int, int]:
    return range_of(MAKERS[kind], *spans)


def limited(value: int) -> int:
    return min(max(value, -128), 127)


def expected_sum(left: int, right: int, sign: int) -> int:
    factors, shift = factors_of_sum((LEFT, RIGHT, OUTPUT))
    first = factors[0].apply((left - LEFT.zero_point) << shift)
    second = factors[1].apply((right - RIGHT.zero_point) << shift)
    return factors[2].apply(first + sign * second) + OUTPUT.zero_point


@pytest.mark.parametrize(("kind", "sign"), [("add", 1), ("subtract", -1)])
@pytest.mark.parametrize("spans", SPANS)
def test_sums_and_differences(kind, sign, spans):
    results = [limited(expected_sum(*pair, sign)) for pair in product(*spans)]
    assert found(kind, *spans) == (min(results), max(results))


@pytest.mark.parametrize(("kind", "function"), [("maximum", max), ("minimum", min)])
@pytest.mark.parametrize("spans", SPANS)
def test_extremes(kind, function, spans):
    results = [function(pair) for pair in product(*spans)]
    assert found(kind, *spans) == (min(results), max(results))


@pytest.mark.parametrize("kind", ["relu", "requantize"])
def test_another_scale(kind):
    factor = quantize_multiplier(LEFT.scale / OUTPUT.scale)
    for span in [(-128, 127), (5, 5)]:
        values = (factor.apply(value - LEFT.zero_point) for value in span)
        results = [limited(value + OUTPUT.zero_point) for value in values]
        assert found(kind, span) == (min(results), max(results))


def test_relu_of_uint8_divides_in_single_precision():
    """85 * 0.07 / 0.1 is between two integers."""
    before, after = Quantization("uint8", (0.07,), (0,)), Quantization("uint8", (0.1,), (0,))
    limits = after.limits()
    relu = range_of(
        lambda b, x: quantized.relu(b, *x, before, after, limits), (85, 85), dtype="uint8"
    )
    assert relu == (59, 59)
    assert quantize_multiplier(0.07 / 0.1).apply(85) == 60


def test_a_clamp_has_the_range_that_it_is_given():
    assert found("clamp", (-4, 5)) == (-4, 5)


def test_what_could_wrap_can_be_anything():
    least, greatest = scaled_ends(ends((-5, 200 << 20))[0], 1 << 30, 4, Rounding.TWICE)
    assert (least.tolist(), greatest.tolist()) == ([-(2**31)], [2**31 - 1])


@T.prim_func(private=True, s_tir=True)
def doubled(x: T.Buffer((1, 3), "int8"), y: T.Buffer((1, 3), "int8")):
    for i, j in T.grid(1, 3):
        with T.sblock("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, vj] + x[vi, vj]


def test_a_sum_that_may_leave_its_type_can_be_anything():
    form = form_of(doubled)
    assert form is not None
    bounds = np.array([-3, 5, 60]), np.array([4, 5, 70])
    least, greatest = elementwise_ends(form, {doubled.params[0]: bounds})
    assert least.tolist() == [-6, 10, -128]
    assert greatest.tolist() == [8, 10, 127]
