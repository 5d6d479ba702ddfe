"""Functions of one real number, and of several, by the operators of Relax."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tvm import relax

from usmp.relax.transform.qdq.functions import COMBINATIONS, function_of, is_element_wise

X = relax.Var("x", relax.TensorType((4,), "float32"))
op = relax.op


@pytest.mark.parametrize(
    ("call", "values"),
    [
        (op.sigmoid(X), {0.0: 0.5, 2.0: 1 / (1 + math.exp(-2)), -800.0: 0.0, -700.5: 0.0}),
        (op.tanh(X), {0.5: math.tanh(0.5)}),
        (op.exp(X), {0.0: 1.0, 1.0: math.e, 699.0: math.exp(699), 701.0: math.inf}),
        (op.log(X), {1.0: 0.0, math.e: 1.0, 0.0: -math.inf, -1.0: math.nan}),
        (op.sqrt(X), {9.0: 3.0, 0.0: 0.0, -1.0: math.nan}),
        (op.rsqrt(X), {4.0: 0.5, 0.0: math.inf, -1.0: math.nan}),
        (op.square(X), {-3.0: 9.0}),
        (op.abs(X), {-3.0: 3.0}),
        (op.negative(X), {-3.0: 3.0, 2.0: -2.0}),
        (op.sin(X), {1.0: math.sin(1)}),
        (op.cos(X), {1.0: math.cos(1)}),
        (op.erf(X), {0.5: math.erf(0.5)}),
        (op.nn.silu(X), {2.0: 2 / (1 + math.exp(-2)), -1.0: -1 / (1 + math.e)}),
        (op.nn.gelu(X), {2.0: 1.9544997361, -1.0: -0.1586552539}),
        (op.nn.gelu_tanh(X), {2.0: 1.9545976940, -1.0: -0.1588080094}),
        (op.nn.relu(X), {2.0: 2.0, -1.0: 0.0, 0.0: 0.0}),
        (op.nn.relu6(X), {2.0: 2.0, -1.0: 0.0, 7.0: 6.0}),
        (op.clip(X, -2, 3), {2.5: 2.5, -5.0: -2.0, 7.0: 3.0}),
        (op.nn.leakyrelu(X, 0.25), {2.0: 2.0, -4.0: -1.0, 0.0: 0.0}),
        (op.nn.softplus(X), {0.0: math.log(2), 3.0: math.log1p(math.exp(3)), -3.0: 0.0485873516}),
    ],
    ids=lambda value: str(value.op.name) if isinstance(value, relax.Call) else "",
)
def test_functions_of_one_number(call, values):
    assert is_element_wise(call)
    function = function_of(call)
    found = [function(x) for x in values]
    np.testing.assert_allclose(found, [*values.values()], rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize(
    "call", [op.add(X, X), op.nn.softmax(X), op.reshape(X, (2, 2)), op.atan(X)]
)
def test_others_are_not_known(call):
    assert function_of(call) is None
    assert not is_element_wise(call)


def test_a_softplus_of_another_slope_is_not_known():
    call = op.nn.softplus(X, 2.0)
    assert is_element_wise(call)
    assert function_of(call) is None


@pytest.mark.parametrize(
    ("name", "cases"),
    [
        ("add", {(1.5, 2.0): 3.5}),
        ("subtract", {(1.5, 2.0): -0.5}),
        ("multiply", {(1.5, 2.0): 3.0}),
        (
            "divide",
            {(1.0, 2.0): 0.5, (1.0, 0.0): math.inf, (-1.0, 0.0): -math.inf, (0.0, 0.0): math.nan},
        ),
        ("power", {(2.0, 3.0): 8.0}),
        ("maximum", {(1.0, 2.0): 2.0}),
        ("minimum", {(1.0, 2.0): 1.0}),
        ("greater", {(1.0, 2.0): False, (2.0, 2.0): False, (3.0, 2.0): True}),
        ("greater_equal", {(1.0, 2.0): False, (2.0, 2.0): True}),
        ("less", {(1.0, 2.0): True, (2.0, 2.0): False}),
        ("less_equal", {(2.0, 2.0): True, (3.0, 2.0): False}),
        ("where", {(True, 1.0, 2.0): 1.0, (False, 1.0, 2.0): 2.0}),
    ],
)
def test_functions_of_several_numbers(name, cases):
    found = [COMBINATIONS[f"relax.{name}"](*numbers) for numbers in cases]
    np.testing.assert_array_equal(found, [*cases.values()])
