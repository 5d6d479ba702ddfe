"""Constant weights and biases: which are known, and what they are at the accumulators' scale."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from support.qdq_graph import BOUND, bound_to, graph_of
from usmp.ops.quantized import OutputLimits, Quantization
from usmp.relax.transform.qdq.graph import Output
from usmp.relax.transform.qdq.operands import IntegerConstant
from usmp.relax.transform.qdq.weights import is_supported, rescale_and_bias, with_bias
from usmp.support.errors import UnsupportedModelError

X = relax.Var("x", relax.TensorType((2, 4), "float32"))
W = relax.const(np.ones((4, 3), np.float32))
op = relax.op
DATA = Quantization("int8", (0.5,), (-3,))
OUTPUT = Output(Quantization("int8", (2.0,), (1,)), OutputLimits("int8", -128, 127))


def bias_of(expr: relax.Expr):
    return with_bias(graph_of(), bound_to(expr), "relax.matmul")


PRODUCT = bound_to(op.matmul(X, W))
FLOATS = np.array([1.0, 2.0, 3.0], np.float32)


@pytest.mark.parametrize("is_first", [False, True])
def test_a_bias_is_added_on_either_side(is_first):
    operands = [PRODUCT, relax.const(FLOATS)]
    call, bias = bias_of(op.add(*(reversed(operands) if is_first else operands)))
    assert call.op.name == "relax.matmul"
    assert bias.tolist() == [1.0, 2.0, 3.0]


def test_without_a_bias():
    call, bias = bias_of(PRODUCT)
    assert call.same_as(BOUND[PRODUCT]) and bias is None
    for other in (
        op.exp(X),
        op.add(PRODUCT, PRODUCT),
        op.add(X, relax.const(np.ones(4, np.float32))),
        # The sum has another shape.
        op.add(PRODUCT, relax.const(np.ones((5, 2, 3), np.float32))),
    ):
        assert bias_of(other) == (None, None)


def stored(values, scale, zero_point=0, dtype="int32") -> relax.Expr:
    scales, zero = relax.const(np.array(scale, "float32")), np.array(zero_point, dtype)
    return bound_to(op.dequantize(relax.const(np.array(values, dtype)), scales, relax.const(zero)))


@pytest.mark.parametrize(
    ("expr", "shape", "axis"),
    [
        (stored([1, 2, 3], 0.5), (3,), 0),
        (stored([1, 2, 3], [0.5, 1.0, 2.0], [0, 0, 0]), (3,), 0),
        (bound_to(op.reshape(stored([1, 2, 3], 0.5), (1, 3))), (1, 3), 1),
        (bound_to(op.expand_dims(stored([1, 2, 3], [0.5, 1.0, 2.0], [0] * 3), 0)), (1, 3), 1),
    ],
)
def test_a_bias_of_stored_integers(expr, shape, axis):
    _, bias = bias_of(op.add(PRODUCT, expr))
    assert isinstance(bias, IntegerConstant)
    assert (bias.values.shape, bias.quantization.axis) == (shape, axis)
    assert bias.values.reshape(-1).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("expr", "real"),
    [
        (stored([1, 2, 3], 0.5, 1), [0.0, 0.5, 1.0]),
        (stored([1, 2, 3], 0.5, 0, "int8"), [0.5, 1.0, 1.5]),
        (stored([[1, 2, 3]], 0.5), [[0.5, 1.0, 1.5]]),
        (stored([4], 0.5), [2.0]),
    ],
)
def test_other_biases_are_real_numbers(expr, real):
    _, bias = bias_of(op.add(PRODUCT, expr))
    assert bias.tolist() == real


@pytest.mark.parametrize(
    ("dtype", "scales", "zero_points", "axis", "data", "expected"),
    [
        ("int8", (0.5,), (3,), 0, "int8", True),
        ("uint8", (0.5,), (3,), 0, "uint8", True),
        ("int16", (0.5,), (0,), 0, "int8", False),
        ("int8", (0.5,), (0,), 0, "int16", False),
        ("int8", (0.5, 1.0), (0, 0), 0, "int8", True),
        ("int8", (0.5, 1.0), (0, 1), 0, "int8", False),
        ("int8", (0.5, 1.0), (0, 0), 1, "int8", False),
    ],
)
def test_weights_that_operators_know(dtype, scales, zero_points, axis, data, expected):
    weight = IntegerConstant(np.ones((2, 2), dtype), Quantization(dtype, scales, zero_points, axis))
    assert is_supported(weight, Quantization(data, (1.0,), (0,))) == expected


def rescaled(bias, scales=(0.25,), values=((1, 2), (3, 4), (-5, 6)), zero_points=None, axis=1):
    count = len(scales)
    weight = IntegerConstant(
        np.array(values, np.int8),
        Quantization("int8", scales, zero_points or (0,) * count, 0),
    )
    shape = (7, 3) if axis == 1 else (3, 7)
    return rescale_and_bias(weight, bias, axis, shape, DATA, OUTPUT)


def test_factors_are_products_of_scales():
    rescale, bias = rescaled(None)
    assert bias is None
    [factor] = rescale.factors
    assert factor.multiplier * 2.0 ** (factor.shift - 31) == 0.5 * 0.25 / 2
    assert (rescale.output, rescale.limits) == (OUTPUT.quantization, OUTPUT.limits)
    rescale, _ = rescaled(None, (0.25, 0.5, 1.0))
    assert len(rescale.factors) == 3


@pytest.mark.parametrize("axis", [0, 1])
def test_a_bias_is_at_the_scale_of_the_accumulators(axis):
    """Steps of 0.5 times 0.25."""
    real = np.array([1.0, -2.0, 0.25])
    real = real if axis == 1 else real.reshape(3, 1)
    _, bias = rescaled(real, axis=axis)
    assert (bias.tolist(), bias.dtype) == ([8, -16, 2], np.int32)
    _, bias = rescaled(np.array([1.0]), axis=1)
    assert bias.tolist() == [8, 8, 8]
    _, bias = rescaled(real, (0.25, 0.5, 1.0), axis=axis)
    assert bias.tolist() == [8, -8, 0]


def test_stored_integers_of_that_scale_are_taken_as_they_are():
    for scale, expected in ((0.125, [9, 8, -7]), (0.125 * (1 + 5e-6), [9, 8, -7])):
        stored_bias = IntegerConstant(
            np.array([9, 8, -7], np.int32), Quantization("int32", (scale,), (0,), 0)
        )
        _, bias = rescaled(stored_bias)
        assert bias.tolist() == expected
    coarse = IntegerConstant(
        np.array([9, 8, -7], np.int32), Quantization("int32", (0.25,), (0,), 0)
    )
    _, bias = rescaled(coarse)
    assert bias.tolist() == [18, 16, -14]
    one = IntegerConstant(np.array([9], np.int32), Quantization("int32", (0.125,), (0,), 0))
    _, bias = rescaled(one)
    assert bias.tolist() == [9, 9, 9]


@pytest.mark.parametrize(
    ("bias", "scales", "message"),
    [
        (np.ones((7, 3)), (0.25,), "a bias that is not one number a channel"),
        (np.ones((7, 1)), (0.25,), "a bias that is not one number a channel"),
        (np.array([1e9, 0, 0]), (0.25,), "a bias takes more than 32 bits"),
        # A third of a step, which is four of the output.
        (np.array([16 / 3, 0, 0]), (32.0,), "the steps of the accumulators are too great"),
    ],
)
def test_biases_that_are_refused(bias, scales, message):
    with pytest.raises(UnsupportedModelError, match=message):
        rescaled(bias, scales)


def test_a_bias_may_be_wrong_by_a_part_of_a_step_of_the_output():
    _, bias = rescaled(np.array([0.125 / 3, 0, 0]))
    assert bias.tolist() == [0, 0, 0]
