"""Tables and limits of the softmax; its outputs are compared in test_quantized_operators.py."""

from __future__ import annotations

import math

import numpy as np
import pytest

import usmp
from support.quantized_models.activations import softmax
from support.quantized_models.model import Spec
from support.tflite_refusals import message_of
from usmp.frontend.tflite.importer import import_tflite
from usmp.ops.quantized.activation.sigmoid import sigmoid_table
from usmp.ops.quantized.activation.softmax import exponentials
from usmp.ops.quantized.activation.softmax_int16 import (
    exponential_table,
    reciprocal_corrections,
    reciprocal_table,
)


@pytest.mark.parametrize(("scale", "beta"), [(0.05, 1.0), (0.1, 2.0), (1.0, 1.0), (0.3, 0.5)])
def test_exponentials_end_where_they_add_nothing_to_a_sum(scale, beta):
    table = exponentials(scale, beta)
    exact = [2**31 * math.exp(-scale * beta * index) for index in range(len(table))]
    np.testing.assert_allclose(table, exact, atol=2**12)
    # What is less than half of the last bit of the sum is left out.
    assert table[-1] >= 2**11
    assert len(table) == 256 or exact[-1] * math.exp(-scale * beta) < 2**11 + 2**8


def test_exponentials_of_a_large_scale_are_those_of_the_greatest_element():
    assert exponentials(1000.0, 1.0).tolist() == [2**31 - 1]


def test_tables_of_int16():
    steps = np.arange(513) / 512
    np.testing.assert_allclose(exponential_table(), 32767 * np.exp(10 * steps - 10), atol=1.5)
    np.testing.assert_allclose(reciprocal_table(), 32768 / (1 + steps), atol=1.5)
    assert set(reciprocal_corrections().tolist()) == {-1, 0, 1}
    np.testing.assert_allclose(
        sigmoid_table(), 65536 / (1 + np.exp(-np.arange(256) / 24)), atol=1.5
    )


def body_and_scratch(content: bytes) -> tuple[str, int]:
    """The C function of the softmax, and how many bytes of scratch memory it needs."""
    factory = usmp.build(import_tflite(content))
    memory = factory.metadata["modules"]["default"]["memory"]["functions"]["operator_functions"]
    scratch = sum(pool["workspace_size_bytes"] for f in memory for pool in f["workspace"])
    return factory.source.split("void tvmgen_default_softmax(")[1].split("\n}\n")[0], scratch


def test_no_scratch_memory_and_one_reciprocal_a_row():
    body, scratch = body_and_scratch(softmax(Spec((3, 10), 0.05, 3), 1.0))
    assert scratch == 0
    row, column = body.split("for (int32_t column")
    assert row.count("tvmgen_one_over_one_plus(") == 1
    assert "tvmgen_one_over_one_plus(" not in column
    assert "tvmgen_leading_zeros(" not in column


@pytest.mark.slow
def test_argument_that_is_read_in_several_places_is_computed_once():
    x, y = Spec((3, 10), 0.0003, 0, "int16"), Spec((3, 10), 1 / 32768, 0, "int16")
    body, scratch = body_and_scratch(softmax(x, 1.0, y))
    assert scratch == 0
    # Once for the sum of the row, once for the shares of it.
    assert body.count("tvmgen_multiply_high(") == 2


def test_other_output_scale():
    content = softmax(Spec((1, 4), 0.1, 0), 1.0, Spec((1, 4), 0.01, -128))
    assert message_of(content) == (
        'operator 0 (SOFTMAX, output "t1"): the int8 output has scale 0.009999999776482582 '
        "and zero point -128; required: 0.00390625 and -128"
    )


def test_rows_that_are_too_long():
    content = softmax(Spec((1, 4096), 0.1, 0), 1.0)
    assert message_of(content) == (
        'operator 0 (SOFTMAX, output "t1"): a softmax of 4096 elements a row; '
        "at most 4095 are supported"
    )


def test_int16_with_a_zero_point():
    content = softmax(Spec((1, 4), 0.1, 5, "int16"), 1.0, Spec((1, 4), 1 / 32768, 0, "int16"))
    assert message_of(content) == (
        'operator 0 (SOFTMAX, output "t1"): the int16 input has zero point 5; required: 0'
    )


def test_scale_too_small():
    content = softmax(Spec((1, 4), 1e-9, 0), 1.0)
    assert "more than 2**-26 is supported" in message_of(content)
