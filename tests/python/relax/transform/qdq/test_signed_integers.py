"""Unsigned integers between operators are signed, and give what they gave."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax
from tvm.ir import GenericConst

from support.qdq_models import (
    between,
    float_counts,
    integer_calls,
    qdq_module,
    raw_calls_of,
    steps_apart,
)
from usmp.ops.quantized import Quantization
from usmp.relax.transform.qdq.signed_integers import signed, use_signed_integers

pytestmark = pytest.mark.cc

SHAPE = (1, 4, 5, 6)


def middle(graph, x, zero_point=130):
    y = graph.quantize(graph.emit(relax.op.nn.relu(x)), 0.05, zero_point, "uint8")
    return graph.dequantize(y, 0.05, zero_point, "uint8")


def types_of(mod):
    """The types that R.quantize gives, and those of the integers that R.dequantize reads."""
    calls = [c for c in raw_calls_of(mod) if c.op.name in ("relax.quantize", "relax.dequantize")]
    calls.sort(key=lambda call: call.op.name)
    return [
        str(c.attrs.out_dtype if c.op.name == "relax.quantize" else c.args[0].ty.dtype)
        for c in calls
    ]


def test_results_are_signed_and_inputs_and_outputs_are_not():
    def body(graph, x):
        return middle(graph, x)

    mod = between(body, SHAPE, dtype="uint8")
    assert types_of(mod) == ["uint8"] * 4
    rewritten = use_signed_integers(mod)
    assert types_of(rewritten) == ["uint8", "int8", "int8", "uint8"]
    zero_points = {
        int(call.args[2].value.numpy())
        for call in raw_calls_of(rewritten)
        if call.op.name in ("relax.quantize", "relax.dequantize")
    }
    assert zero_points == {120, 2, 4}
    assert steps_apart(mod) <= 1


def test_weights_are_signed():
    """So there are kernels for those whose zero point is 128."""
    values = np.random.default_rng(0).integers(0, 256, (3, 4, 3, 3))

    def body(graph, x):
        return relax.op.nn.conv2d(x, graph.dequantize(values, 0.01, 128, "uint8"), padding=1)

    mod = between(body, SHAPE)
    (weight,) = (
        call.args[0].value.numpy()
        for call in raw_calls_of(use_signed_integers(mod))
        if call.op.name == "relax.dequantize" and isinstance(call.args[0], GenericConst)
    )
    assert weight.dtype == np.int8
    np.testing.assert_array_equal(weight, values - 128)
    assert integer_calls(mod) == ["conv2d"]
    assert steps_apart(mod) <= 1


def test_what_others_read_stays():
    """A result that is an output, or that is not only R.dequantize's."""

    def body(graph, x):
        y = graph.quantize(graph.dequantize(x), 0.05, 130, "uint8")
        moved = graph.emit(relax.op.permute_dims(y))
        return y, graph.quantize(graph.dequantize(moved, 0.05, 130, "uint8"))

    mod = qdq_module(body, ((4, 6), "int8"))
    assert use_signed_integers(mod) is mod


def test_a_signed_module_stays():
    mod = between(lambda graph, x: middle(graph, x), SHAPE)
    once = use_signed_integers(mod)
    assert use_signed_integers(once) is once


@pytest.mark.parametrize("types", [("uint8", "int8"), ("int8", "uint8"), ("uint8", "uint8")])
@pytest.mark.parametrize("operator", ["add", "subtract", "multiply"])
def test_sums_of_inputs_and_results(operator, types):
    """Of which inputs and outputs are unsigned, and what is between them is not."""

    def body(graph, x):
        y = graph.quantize(getattr(relax.op, operator)(x, middle(graph, x)), 0.3, 100, "uint8")
        y = graph.dequantize(y, 0.3, 100, "uint8")
        return relax.op.nn.relu(graph.emit(getattr(relax.op, operator)(y, y)))

    first, last = types
    mod = between(body, SHAPE, dtype=first, out=(0.4, 90), out_dtype=last)
    assert float_counts(mod) == {}
    assert steps_apart(mod) <= 2  # One for each of two operators.


def test_zero_points():
    unsigned = Quantization("uint8", (0.5, 0.25), (128, 0), 1)
    assert signed(unsigned) == Quantization("int8", (0.5, 0.25), (0, -128), 1)
    assert signed(signed(unsigned)) == signed(unsigned)
