"""Functions of one tensor between quantizers: a table of what float arithmetic gives."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from support.qdq_models import (
    between,
    float_counts,
    integer_calls,
    parts_between,
    qdq_module,
    steps_apart,
)


def number(value):
    return relax.const(np.float32(value))


FUNCTIONS = {
    "sigmoid": (lambda g, x: relax.op.sigmoid(x), (1 / 256, -128)),
    "tanh": (lambda g, x: relax.op.tanh(x), (1 / 128, 0)),
    "silu": (lambda g, x: relax.op.nn.silu(x), (0.05, -100)),
    "gelu": (lambda g, x: relax.op.nn.gelu(x), (0.05, -100)),
    "gelu_tanh": (lambda g, x: relax.op.nn.gelu_tanh(x), (0.05, -100)),
    "leaky_relu": (lambda g, x: relax.op.nn.leakyrelu(x, 0.3), (0.06, -20)),
    "softplus": (lambda g, x: relax.op.nn.softplus(x), (0.06, -128)),
    "exp": (lambda g, x: relax.op.exp(x), (10.0, -128)),
    "erf": (lambda g, x: relax.op.erf(x), (1 / 128, 0)),
    "abs": (lambda g, x: relax.op.abs(x), (0.06, -128)),
    "negative": (lambda g, x: relax.op.negative(x), (0.1, 3)),
    "square": (lambda g, x: relax.op.square(x), (0.5, -128)),
    "sin": (lambda g, x: relax.op.sin(x), (1 / 128, 0)),
    "cos": (lambda g, x: relax.op.cos(x), (1 / 128, 0)),
    "x * sigmoid(x)": (lambda g, x: relax.op.multiply(x, g.emit(relax.op.sigmoid(x))), (0.1, -100)),
    "hard sigmoid": (
        lambda g, x: relax.op.clip(
            g.emit(relax.op.add(g.emit(relax.op.multiply(x, number(1 / 6))), number(0.5))), 0, 1
        ),
        (1 / 256, -128),
    ),
    "hard swish": (
        lambda g, x: relax.op.divide(
            g.emit(
                relax.op.multiply(x, g.emit(relax.op.nn.relu6(g.emit(relax.op.add(x, number(3))))))
            ),
            number(6),
        ),
        (0.06, -100),
    ),
    "gelu by erf": (
        lambda g, x: relax.op.multiply(
            g.emit(relax.op.multiply(x, number(0.5))),
            g.emit(
                relax.op.add(
                    number(1), g.emit(relax.op.erf(g.emit(relax.op.multiply(x, number(0.7071)))))
                )
            ),
        ),
        (0.05, -100),
    ),
    "one over x": (lambda g, x: relax.op.divide(number(1), x), (0.01, 3)),
    "a quantized number": (
        lambda g, x: relax.op.divide(x, g.dequantize(np.array([7]), 0.3, 1)),
        (0.06, 3),
    ),
    "power": (lambda g, x: relax.op.power(x, number(3)), (10.0, 3)),
    "choice": (
        lambda g, x: relax.op.where(
            g.emit(relax.op.greater(x, number(0.2))), x, g.emit(relax.op.tanh(x))
        ),
        (0.1, 0),
    ),
    "greater of two": (lambda g, x: relax.op.maximum(g.emit(relax.op.tanh(x)), x), (0.1, 0)),
}


@pytest.mark.cc
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    function, (scale, zero_point) = FUNCTIONS[name]

    def whole(graph, *params):
        return tuple(
            parts_between(graph, function, [x], dtype, 0.07, (scale, zero_point + more))
            for x, dtype, more in zip(params, ("int8", "uint8"), (0, 128), strict=True)
        )

    mod = qdq_module(whole, ((512,), "int8"), ((512,), "uint8"))
    assert {call.rstrip("_123") for call in integer_calls(mod)} >= {"table"}
    assert float_counts(mod) == {}
    assert steps_apart(mod) <= 1


@pytest.mark.cc
def test_results_of_another_type():
    mod = between(lambda g, x: relax.op.tanh(x), (512,), out=(2.0**-15, 0), out_dtype="int16")
    assert integer_calls(mod) == ["table"]
    # An activation of int16 is a float32 with 8 bits to spare.
    assert steps_apart(mod) <= 1


@pytest.mark.cc
def test_a_table_is_cut_by_an_activation():
    mod = between(lambda g, x: relax.op.nn.relu(g.emit(relax.op.tanh(x))), (512,), out=(0.01, 0))
    assert integer_calls(mod) == ["table"]
    assert steps_apart(mod) <= 1


REFUSED = {
    "two tensors": (
        lambda: between(
            lambda g, x, y: relax.op.multiply(x, g.emit(relax.op.sigmoid(y))), (300,), (300,)
        ),
        {"multiply": 1, "sigmoid": 1},
    ),
    "one tensor at two scales": (
        lambda: qdq_module(
            lambda g, x: g.quantize(
                g.emit(relax.op.divide(g.dequantize(x, 0.1), g.dequantize(x, 0.2, 3)))
            ),
            ((300,), "int8"),
        ),
        {"divide": 1},
    ),
    "a tensor and itself moved": (
        lambda: between(
            lambda g, x: relax.op.divide(x, g.emit(relax.op.permute_dims(x))), (20, 20), out=(1, 0)
        ),
        {"divide": 1, "permute_dims": 1},
    ),
    "no power": (
        lambda: between(lambda g, x: relax.op.power(x, number(0.5)), (300,)),
        {"power": 1},
    ),
    "no number": (
        lambda: between(lambda g, x: relax.op.divide(x, x), (300,)),
        {"divide": 1},
    ),
    "int16": (
        lambda: between(lambda g, x: relax.op.sigmoid(x), (300,), dtype="int16", out=(0.01, 0)),
        {"sigmoid": 1},
    ),
    "numbers of more axes": (
        lambda: between(
            lambda g, x: relax.op.divide(x, relax.const(np.full((1, 1), 3.0, "float32"))), (300,)
        ),
        {"divide": 1},
    ),
    "numbers that differ": (
        lambda: between(
            lambda g, x: relax.op.divide(x, relax.const(np.array([3.0, 4.0], "float32"))), (150, 2)
        ),
        {"divide": 1},
    ),
}


@pytest.mark.cc
@pytest.mark.parametrize("reason", REFUSED)
def test_what_stays_in_float(reason):
    make, counts = REFUSED[reason]
    mod = make()
    assert float_counts(mod) == counts
    if reason not in ("no number", "no power"):  # what R.quantize makes of that is not defined
        assert steps_apart(mod) == 0


def test_long_chains_take_no_time_and_end():
    """Each value is used twice: without memory, this would take 2**40 steps."""

    def body(graph, x):
        for _ in range(40):
            x = graph.emit(relax.op.add(graph.emit(relax.op.tanh(x)), x))
        return x

    assert integer_calls(between(body, (300,), out=(1.0, 0))) == ["table"]


def test_chains_that_are_too_deep_stay_in_float():
    def body(graph, x):
        for _ in range(600):
            x = graph.emit(relax.op.tanh(x))
        return x

    mod = between(body, (3,))
    assert float_counts(mod) in ({}, {"tanh": 600})
