"""Sums, differences and products between quantizers, against float."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from support.qdq_models import between, float_counts, integer_calls, qdq_module, steps_apart

pytestmark = pytest.mark.cc

OPERATORS = ["add", "subtract", "multiply"]
SHAPES = {
    "same": ((2, 3, 5), (2, 3, 5)),
    "rows": ((2, 3, 5), (3, 1)),
    "both": ((2, 1, 5), (3, 1)),
    "one number": ((2, 3, 5), ()),
}


def operate(operator, *arguments):
    return getattr(relax.op, operator)(*arguments)


@pytest.mark.parametrize("form", SHAPES)
@pytest.mark.parametrize("operator", OPERATORS)
def test_two_tensors(operator, form):
    mod = between(lambda g, x, y: operate(operator, x, y), *SHAPES[form], out=(0.17, 4))
    assert integer_calls(mod) == [operator]
    assert steps_apart(mod) <= 1


@pytest.mark.parametrize("dtype", ["uint8", "int16"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_types(operator, dtype):
    out = (0.17, 0) if dtype == "int16" else (0.17, 200)
    scale = 0.001 if dtype == "int16" else 0.1
    mod = between(
        lambda g, x, y: operate(operator, x, y), (400,), (400,), dtype=dtype, out=out, scale=scale
    )
    assert integer_calls(mod) == [operator]
    assert steps_apart(mod) <= 1


@pytest.mark.parametrize("zero_points", [(-128, 127, -128), (127, -128, 127)], ids=str)
@pytest.mark.parametrize("scales", [(0.1, 0.1, 0.2), (0.001, 3.0, 2.9), (2.0, 0.01, 0.03)], ids=str)
@pytest.mark.parametrize("operator", OPERATORS)
def test_scales_and_zero_points(operator, scales, zero_points):
    def whole(graph, x, y):
        operands = [
            graph.dequantize(p, s, z) for p, s, z in zip((x, y), scales, zero_points, strict=False)
        ]
        return graph.quantize(graph.emit(operate(operator, *operands)), scales[2], zero_points[2])

    mod = qdq_module(whole, ((30, 30), "int8"), ((30, 30), "int8"))
    assert integer_calls(mod) == [operator]
    assert steps_apart(mod) <= 1


@pytest.mark.parametrize("is_left", [False, True])
@pytest.mark.parametrize("operator", OPERATORS)
def test_quantized_constants(operator, is_left):
    def body(graph, x):
        constant = graph.dequantize(np.arange(-2, 3), 0.7, 1)
        return operate(operator, *((constant, x) if is_left else (x, constant)))

    mod = between(body, (40, 5))
    assert integer_calls(mod) == [operator]
    assert steps_apart(mod) <= 1


def test_a_tensor_with_itself():
    mod = between(lambda g, x: relax.op.multiply(x, x), (300,))
    assert integer_calls(mod) == ["multiply"]
    assert steps_apart(mod) <= 1


@pytest.mark.parametrize("operator", OPERATORS)
def test_activations_are_fused(operator):
    mod = between(lambda g, x, y: relax.op.nn.relu(g.emit(operate(operator, x, y))), (300,), (300,))
    assert integer_calls(mod) == [operator]
    assert steps_apart(mod) <= 1


REFUSED = {
    "two types": lambda: qdq_module(
        lambda g, x, y: g.quantize(
            g.emit(relax.op.add(g.dequantize(x), g.dequantize(y, 0.1, 0, "int16")))
        ),
        ((300,), "int8"),
        ((300,), "int16"),
    ),
    "a float operand": lambda: qdq_module(
        lambda g, x, y: g.quantize(g.emit(relax.op.add(g.dequantize(x), y))),
        ((300,), "int8"),
        ((300,), "float32"),
    ),
    "scales of channels": lambda: between(
        lambda g, x: relax.op.add(
            x, g.dequantize(np.array([1, 2, 3]), [0.1, 0.2, 0.3], [0, 0, 0], axis=0)
        ),
        (100, 3),
    ),
    "a result of far finer steps": lambda: between(
        lambda g, x, y: relax.op.add(x, y), (300,), (300,), scale=100.0, out=(1e-6, 0)
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_stays_in_float(reason):
    mod = REFUSED[reason]()
    assert float_counts(mod) == {"add": 1}
    assert steps_apart(mod) == 0


def test_int16_with_zero_points_is_multiplied_in_float():
    def whole(graph, x, y):
        operands = graph.dequantize(x, 0.01, 5, "int16"), graph.dequantize(y, 0.01, 0, "int16")
        return graph.quantize(graph.emit(relax.op.multiply(*operands)), 0.5, 0, "int16")

    mod = qdq_module(whole, ((300,), "int16"), ((300,), "int16"))
    assert float_counts(mod) == {"multiply": 1}
    assert steps_apart(mod) == 0


def test_a_product_of_far_finer_steps_does_not_overflow():
    mod = between(
        lambda g, x, y: relax.op.multiply(x, y), (300,), (300,), scale=10.0, out=(1e-6, 0)
    )
    assert float_counts(mod) == {"multiply": 1}
    assert steps_apart(mod) == 0
