"""Matrix products between quantizers, against float."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from support.qdq_models import between, float_counts, integer_calls, qdq_module, steps_apart

GENERATOR = np.random.default_rng(0)


def integers(*shape):
    return GENERATOR.integers(-127, 128, shape)


def scales(count):
    return GENERATOR.uniform(0.002, 0.02, count)


def product(shape, bias=None, columns=5, is_transposed=False):
    """A module with x @ w + bias; w is stored as (columns, depth) if it is transposed."""
    depth = shape[-1]

    def body(graph, x):
        stored = integers(columns, depth) if is_transposed else integers(depth, columns)
        axis = 0 if is_transposed else 1
        w = graph.dequantize(stored, scales(columns), np.zeros(columns), axis=axis)
        if is_transposed:
            w = graph.emit(relax.op.permute_dims(w))
        y = graph.emit(relax.op.matmul(x, w))
        if bias is None:
            return y
        return relax.op.add(y, relax.const(GENERATOR.normal(size=bias).astype("float32") * 3))

    return between(body, shape)


@pytest.mark.cc
@pytest.mark.parametrize("bias", [None, (5,), (1, 5), ()], ids=str)
@pytest.mark.parametrize("shape", [(1, 7), (2, 3, 7), (1, 2, 3, 7)], ids=str)
def test_constant_matrices(shape, bias):
    mod = product(shape, bias)
    assert integer_calls(mod) == ["fully_connected"]
    assert steps_apart(mod) <= 1


@pytest.mark.cc
@pytest.mark.parametrize("bias", [None, (5,)], ids=str)
def test_constant_matrices_that_are_transposed(bias):
    mod = product((3, 7), bias, is_transposed=True)
    assert integer_calls(mod) == ["fully_connected"]
    assert steps_apart(mod) <= 1


@pytest.mark.cc
def test_a_vector():
    mod = product((7,), (5,))
    assert integer_calls(mod) == ["fully_connected"]
    assert steps_apart(mod) <= 1


@pytest.mark.cc
@pytest.mark.parametrize(
    ("shape", "bias"), [((5, 7), (5, 1)), ((5, 5, 7), (5, 1, 5)), ((5, 5, 7), (5, 1, 1))], ids=str
)
def test_numbers_along_the_rows_are_no_bias(shape, bias):
    mod = product(shape, bias)
    assert float_counts(mod) == {"add": 1, "matmul": 1}
    assert steps_apart(mod) <= 1


def test_a_bias_that_adds_axes_stays_in_float():
    assert float_counts(product((3, 7), (1, 1, 5))) == {"add": 1, "matmul": 1}


def test_scales_of_the_depth_stay_in_float():
    def body(graph, x):
        return relax.op.matmul(x, graph.dequantize(integers(7, 5), scales(7), np.zeros(7), axis=0))

    assert float_counts(between(body, (3, 7))) == {"matmul": 1}


@pytest.mark.cc
@pytest.mark.parametrize("zero_point", [0, 128, 255])
def test_uint8_weights(zero_point):
    def body(graph, x):
        stored = GENERATOR.integers(0, 256, (7, 5))
        return relax.op.matmul(x, graph.dequantize(stored, 0.01, zero_point, "uint8"))

    mod = between(body, (3, 7), dtype="uint8", out=(0.5, 3))
    assert integer_calls(mod) == ["fully_connected"]
    assert steps_apart(mod) <= 1


PAIRS = {
    "matrices": ((3, 7), (7, 5)),
    "batches": ((2, 3, 7), (2, 7, 5)),
    "a shared matrix": ((2, 3, 7), (7, 5)),
    "broadcast": ((2, 1, 3, 7), (1, 4, 7, 5)),
}


@pytest.mark.cc
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("form", PAIRS)
def test_two_computed_tensors(form, dtype):
    mod = between(lambda g, x, y: relax.op.matmul(x, y), *PAIRS[form], dtype=dtype, out=(0.5, 3))
    assert integer_calls(mod) == ["batch_matmul"]
    assert steps_apart(mod) <= 1


@pytest.mark.cc
def test_queries_times_transposed_keys():
    """The keys are transposed between R.dequantize and R.matmul, as attention does."""

    def body(graph, x, y):
        keys = graph.emit(relax.op.permute_dims(y, [0, 2, 1]))
        return relax.op.nn.relu(graph.emit(relax.op.matmul(x, keys)))

    mod = between(body, (2, 3, 7), (2, 5, 7), out=(0.5, 3))
    assert integer_calls(mod) == ["permute_dims", "batch_matmul", "clamp"]
    assert steps_apart(mod) <= 1


@pytest.mark.cc
def test_a_constant_on_the_left():
    mod = between(lambda g, x: relax.op.matmul(g.dequantize(integers(4, 7), 0.01, 0), x), (7, 3))
    assert integer_calls(mod) == ["batch_matmul"]
    assert steps_apart(mod) <= 1


@pytest.mark.cc
def test_batches_of_constant_matrices():
    mod = between(lambda g, x: relax.op.matmul(x, g.dequantize(integers(2, 7, 5))), (2, 3, 7))
    assert integer_calls(mod) == ["batch_matmul"]
    assert steps_apart(mod) <= 1


def test_products_that_may_overflow_stay_in_float():
    def body(graph, x):
        return relax.op.matmul(x, graph.dequantize(np.full((140000, 1), 127), 1e-4, 0))

    mod = between(body, (1, 140000))
    assert float_counts(mod) == {"matmul": 1}


@pytest.mark.cc
def test_matrices_that_are_quantized_at_run_time():
    """As training with quantization exports them: R.quantize of float constants."""

    def body(graph, x):
        stored = relax.const(GENERATOR.normal(size=(7, 5)).astype("float32"))
        parameters = (scales(5), np.zeros(5))
        w = graph.dequantize(graph.quantize(stored, *parameters, axis=1), *parameters, axis=1)
        y = graph.emit(relax.op.matmul(x, w))
        bias = relax.const(GENERATOR.normal(size=5).astype("float32"))
        b = graph.dequantize(graph.quantize(bias, 0.01, 0), 0.01, 0)
        return relax.op.add(y, b)

    mod = between(body, (3, 7))
    assert integer_calls(mod) == ["fully_connected"]
    assert steps_apart(mod) <= 1


def test_a_weight_of_the_caller_is_a_second_tensor():
    def whole(graph, x, w):
        y = relax.op.matmul(graph.dequantize(x), graph.dequantize(w, scales(5), np.zeros(5)))
        return graph.quantize(graph.emit(y))

    mod = qdq_module(whole, ((3, 7), "int8"), ((7, 5), "int8"))
    assert float_counts(mod) == {"matmul": 1}
