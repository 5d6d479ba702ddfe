"""Sums and differences of int8 tensors, which vectors compute as TFLite does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tvm import tirx

from support.kernel_loops import M4, M55, bodies_of, check_loops, operator_call
from usmp.ops import quantized
from usmp.ops.kernels.call.limits import Limits
from usmp.ops.kernels.mve.addition import Addition, Term, addition_of
from usmp.ops.kernels.mve.conv2d import mve_conv2d_kernel
from usmp.ops.kernels.mve.elementwise import mve_elementwise_kernel
from usmp.ops.quantized import Layout, OutputLimits, Quantization, Rescale, Window
from usmp.ops.quantized.activation.activations import relu
from usmp.ops.quantized.arithmetic import add, subtract
from usmp.ops.quantized.rescaling.fixed_point import quantize_multiplier
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import intrinsic_call


def int8(scale, zero_point):
    return Quantization("int8", (scale,), (zero_point,))


SMALL, LARGE, OUTPUT = int8(0.5, -3), int8(0.7, 4), int8(0.9, 5)


def arguments_of(call):
    return [int(a) if isinstance(a, tirx.IntImm) else None for a in call.args[1:]]


def additions_in(kernel):
    """What the functions are told after the buffers and the number of elements."""
    calls = map(intrinsic_call, nodes_of(kernel.func.body, tirx.AttrStmt))
    known = [call for call in calls if call is not None]
    return [arguments_of(c)[4:] for c in known if c.args[0].value == "tvmgen_mve_add"]


def elementwise(operator, first, second, output=OUTPUT):
    limits = OutputLimits("int8", -100, 90)
    return operator_call(
        lambda builder, a, b: operator(builder, a, b, (first, second, output), limits),
        (2, 30),
        (2, 30),
    )


@pytest.mark.cc
@pytest.mark.parametrize("operator", [add, subtract])
@pytest.mark.parametrize(
    ("first", "second"), [(SMALL, LARGE), (LARGE, SMALL), (LARGE, LARGE), (SMALL, int8(0.5, 7))]
)
def test_loops_compute_the_operator(operator, first, second):
    call = elementwise(operator, first, second)
    check_loops(call, mve_elementwise_kernel(call, M55))


@pytest.mark.parametrize(
    ("operator", "first", "second", "expected"),
    [
        # The term with the factor one half comes first; one that is subtracted has a sign.
        (add, LARGE, SMALL, [1 << 19, -4 << 19, 20, 3 << 20, None, 1, 1]),
        (add, SMALL, LARGE, [1 << 19, -4 << 19, 20, 3 << 20, None, 1, 1]),
        (subtract, LARGE, SMALL, [1 << 19, -4 << 19, 20, 3 << 20, None, 1, -1]),
        (subtract, SMALL, LARGE, [-1 << 19, 4 << 19, 20, 3 << 20, None, 1, 1]),
        # Both are one half: the second is doubled before.
        (add, LARGE, int8(0.7, 3), [1 << 19, -4 << 19, 21, -6 << 20, 1 << 30, 1, 1]),
    ],
)
def test_what_functions_are_told(operator, first, second, expected):
    (found,) = additions_in(mve_elementwise_kernel(elementwise(operator, first, second), M55))
    if expected[4] is None:
        assert (1 << 30) <= found[4] < (1 << 31)
        expected[4] = found[4]
    assert found[:7] == expected
    multiplier = quantize_multiplier(1.4 / ((1 << 20) * 0.9))
    assert found[7:] == [multiplier.multiplier, -multiplier.shift, 5, -100, 90]


def test_the_second_factor_is_that_of_its_scale():
    (found,) = additions_in(mve_elementwise_kernel(elementwise(add, LARGE, SMALL), M55))
    factor = quantize_multiplier(0.5 / 1.4)
    assert (found[4], found[5]) == (factor.multiplier, -factor.shift)


TERM = Term(tirx.Var("x", "int8"), 0, 1 << 30, 0, 1)


@pytest.mark.parametrize(
    ("second", "shift", "is_exact"),
    [
        ({"multiplier": 3 << 29, "shift": -1}, -1, True),
        ({"multiplier": 3 << 29, "shift": -31}, -31, True),
        ({"multiplier": 3 << 29, "shift": 0}, -1, False),
        ({"multiplier": 3 << 29, "shift": -32}, -1, False),
        ({}, 0, False),
        ({}, -32, False),
        ({}, -31, True),
        ({"offset": 128 << 20}, -1, True),
        ({"offset": -(128 << 20) - 1}, -1, False),
        ({"multiplier": (1 << 30) + 1}, -1, False),
    ],
)
def test_shifts_are_to_the_right(second, shift, is_exact):
    limits = Limits(0, -128, 127)
    addition = Addition(TERM, replace(TERM, **second), 1 << 30, shift, limits)
    assert addition.is_exact is is_exact


def test_other_operators_are_no_additions():
    """Of one element, of another core, and of scales at which shifts are to the left."""
    assert addition_of(tirx.Var("x", "int8"), M55) is None
    assert mve_elementwise_kernel(elementwise(add, SMALL, LARGE), M4) is None
    large = elementwise(add, SMALL, LARGE, int8(1e-7, 0))
    assert mve_elementwise_kernel(large, M55) is None


def convolution(ends, shapes):
    """A convolution of one pixel's channels, and what becomes of it and another tensor."""
    window = Window((4, 5), (1, 1), (1, 1), (1, 1), (0, 0), (4, 5))
    weight = np.random.default_rng(0).integers(-127, 128, (8, 1, 1, 8)).astype(np.int8)
    rescale = Rescale((quantize_multiplier(0.01),), LARGE, OutputLimits("int8", -128, 127))

    def make(builder, data, *others):
        arguments = (weight, np.ones(8, np.int32), window, SMALL, rescale, Layout("NHWC"))
        result = quantized.conv2d(builder, data, *arguments, int8(0.1, 0))
        return ends(builder, builder.emit(result), *others)

    return operator_call(make, (1, 4, 5, 8), *shapes)


def added(operator, quantizations, is_second=False):
    def make(builder, result, other):
        pair = (other, result) if is_second else (result, other)
        return operator(builder, *pair, quantizations, OUTPUT.limits())

    return make


SHAPE = (1, 4, 5, 8)


@pytest.mark.cc
@pytest.mark.parametrize("operator", [add, subtract])
@pytest.mark.parametrize("is_second", [False, True])
def test_additions_after_a_convolution(operator, is_second):
    quantizations = (SMALL, LARGE, OUTPUT) if is_second else (LARGE, SMALL, OUTPUT)
    call = convolution(added(operator, quantizations, is_second=is_second), [SHAPE])
    kernel = mve_conv2d_kernel(call, M55)
    assert additions_in(kernel)
    check_loops(call, kernel)


@pytest.mark.cc
def test_functions_before_and_after_the_addition():
    def ends(builder, result, other):
        result = builder.emit(relu(builder, result, LARGE, SMALL, SMALL.limits()))
        result = builder.emit(add(builder, result, other, (SMALL, LARGE, OUTPUT), OUTPUT.limits()))
        return relu(builder, result, OUTPUT, SMALL, SMALL.limits())

    call = convolution(ends, [SHAPE])
    kernel = mve_conv2d_kernel(call, M55)
    assert len(bodies_of(kernel)) >= 1
    assert additions_in(kernel)
    check_loops(call, kernel)


def test_other_ends_of_a_convolution_have_no_addition():
    """The other tensor is broadcast, or is the result itself."""
    quantizations = (LARGE, SMALL, OUTPUT)
    for shape in ((8,), (1, 1, 5, 8)):
        kernel = mve_conv2d_kernel(convolution(added(add, quantizations), [shape]), M55)
        assert kernel is None or not additions_in(kernel)
    twice = convolution(
        lambda builder, r: add(builder, r, r, (LARGE, LARGE, OUTPUT), OUTPUT.limits()), []
    )
    kernel = mve_conv2d_kernel(twice, M55)
    assert kernel is None or not additions_in(kernel)
