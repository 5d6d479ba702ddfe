"""Products by constants that stand for zeros."""

from __future__ import annotations

import numpy as np
import pytest

import usmp
from support.micro import assert_equals_micro
from support.quantized_models.model import Constant, Spec, one_operator
from support.tflite_builder import Graph, options, per_tensor, write_model
from support.tflite_refusals import refusal
from usmp.frontend.tflite.importer import import_tflite

MUL = options("MulOptions")
RELU = options("MulOptions", fused_activation_function=1)
MINUTE = 1e-12
"""A scale to which the others are more than 2**30."""


@pytest.mark.slow
@pytest.mark.models
def test_the_scales_make_no_difference():
    """On either side, broadcast and not, int8 and int16."""
    graph = Graph()
    for dtype, zero in (("int8", -3), ("int16", 0)):
        x = graph.input((2, 5), dtype, per_tensor(0.1, zero))
        for shape, after in (((2, 5), zero), ((), zero), ((5,), -100 if dtype == "int8" else 0)):
            zeros = graph.constant(np.full(shape, zero, dtype), per_tensor(1.0, zero))
            y = graph.tensor((2, 5), dtype, per_tensor(MINUTE, after))
            graph.operator("MUL", [zeros, x] if shape else [x, zeros], [y], RELU if shape else MUL)
            graph.output(y)
    content = write_model(graph)
    assert_equals_micro(usmp.build(import_tflite(content)), content, runs=2)


@pytest.mark.models
def test_a_factor_that_rounds_to_zero():
    x = Spec((2, 5), 0.1, -3)
    tiny = Constant(np.arange(10, dtype=np.int8).reshape(2, 5), per_tensor(1e-21, 2))
    content = one_operator("MUL", [x, tiny], [x], MUL)
    assert_equals_micro(usmp.build(import_tflite(content)), content, runs=2)


def test_one_number_that_is_not_zero():
    x, y = Spec((2, 5), 0.1, -3), Spec((2, 5), MINUTE)
    almost = np.full((2, 5), 4, np.int8)
    almost[1, 4] = 5
    message = refusal("MUL", [x, Constant(almost, per_tensor(1.0, 4))], y, MUL)
    assert message.startswith("the ratio of the quantization scales is ")
    assert message.endswith("; less than 2**30 is supported")
