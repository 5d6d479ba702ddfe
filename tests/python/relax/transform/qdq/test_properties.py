"""Random quantized graphs: integer operators differ by a step an operator from float ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import relax

from support.levels import number
from support.qdq_models import float_counts, qdq_module, steps_of_built

pytestmark = [pytest.mark.cc, pytest.mark.slow]

EXAMPLES = number(3, 60)
LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}

dtypes = st.sampled_from(sorted(LIMITS))
scales = st.floats(1e-3, 1.0).map(lambda s: float(np.float32(s)))
clamps = st.sampled_from([None, "relu", "relu6", (-0.7, 2.3), (5.0, 1.0)])


@st.composite
def zero_points(draw, dtype):
    return draw(st.integers(*LIMITS[dtype]))


def clamped(graph, y, clamp):
    if clamp is None:
        return y
    if isinstance(clamp, tuple):
        return graph.emit(relax.op.clip(y, *clamp))
    return graph.emit(getattr(relax.op.nn, clamp)(y))


def random_bias(generator, count, reach):
    return generator.uniform(-reach, reach, count).astype(np.float32)


@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
def test_convolutions(data):
    dtype, draw = data.draw(dtypes), data.draw
    generator = np.random.default_rng(draw(st.integers(0, 2**16)))
    groups = draw(st.sampled_from([1, 1, 2, 4]))
    outputs = groups * draw(st.integers(1, 3))
    kernel = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    options = {
        "strides": draw(st.tuples(st.integers(1, 3), st.integers(1, 3))),
        "padding": draw(st.tuples(*[st.integers(0, 2)] * 4)),
        "dilation": draw(st.tuples(st.integers(1, 2), st.integers(1, 2))),
        "groups": groups,
    }
    is_per_channel, has_bias, clamp = draw(st.booleans()), draw(st.booleans()), draw(clamps)
    scale, zero_point, end = draw(scales), draw(zero_points(dtype)), draw(zero_points(dtype))
    weight_scales = generator.uniform(0.001, 0.1, outputs if is_per_channel else ())
    stored = generator.integers(-128, 128, (outputs, 4 // groups, *kernel))
    reach = float(scale * np.max(weight_scales) * 128 * np.sqrt(stored[0].size) * 64)

    def whole(graph, x):
        zeros = np.zeros(weight_scales.shape, np.int8)
        weight = graph.dequantize(stored, weight_scales, zeros, "int8", 0)
        real = graph.dequantize(x, scale, zero_point, dtype)
        y = graph.emit(relax.op.nn.conv2d(real, weight, **options))
        if has_bias:
            bias = random_bias(generator, (1, outputs, 1, 1), reach)
            y = graph.emit(relax.op.add(y, relax.const(bias)))
        return graph.quantize(clamped(graph, y, clamp), reach / 100, end, dtype)

    mod = qdq_module(whole, ((2, 4, 6, 7), dtype))
    assert float_counts(mod) == {}
    assert steps_of_built(mod) <= 1


@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
def test_products(data):
    dtype, draw = data.draw(dtypes), data.draw
    generator = np.random.default_rng(draw(st.integers(0, 2**16)))
    batch = draw(st.lists(st.integers(1, 3), max_size=2))
    rows, depth, columns = (draw(st.integers(1, n)) for n in (4, 40, 6))
    has_bias, clamp = draw(st.booleans()), draw(clamps)
    scale, zero_point, end = draw(scales), draw(zero_points(dtype)), draw(zero_points(dtype))
    stored = generator.integers(-128, 128, (depth, columns))
    weight_zero_point = draw(st.integers(-128, 127))
    reach = float(scale * 0.01 * 128 * 128 * np.sqrt(depth))

    def whole(graph, x):
        weight = graph.dequantize(stored, 0.01, weight_zero_point)
        real = graph.dequantize(x, scale, zero_point, dtype)
        y = graph.emit(relax.op.matmul(real, weight))
        if has_bias:
            bias = relax.const(random_bias(generator, (columns,), reach))
            y = graph.emit(relax.op.add(bias, y))
        return graph.quantize(clamped(graph, y, clamp), reach / 100, end, dtype)

    mod = qdq_module(whole, ((*batch, rows, depth), dtype))
    assert float_counts(mod) == {}
    assert steps_of_built(mod) <= 1


@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
def test_two_tensors(data):
    dtype, draw = data.draw(dtypes), data.draw
    operator = draw(st.sampled_from(["add", "subtract", "multiply", "maximum", "minimum"]))
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    other = [draw(st.sampled_from([1, extent])) for extent in shape]
    first, second = ((draw(scales), draw(zero_points(dtype))) for _ in range(2))
    end, clamp = draw(zero_points(dtype)), draw(clamps)
    if operator == "multiply":
        after = first[0] * second[0] * draw(st.floats(10, 200))
    else:
        after = max(first[0], second[0]) * draw(st.floats(0.1, 4))

    def whole(graph, x, y):
        operands = graph.dequantize(x, *first, dtype), graph.dequantize(y, *second, dtype)
        result = graph.emit(getattr(relax.op, operator)(*operands))
        return graph.quantize(clamped(graph, result, clamp), after, end, dtype)

    mod = qdq_module(whole, (tuple(shape), dtype), (tuple(other), dtype))
    assert float_counts(mod) == {}
    assert steps_of_built(mod) <= 1


MOVES = {
    "permute": lambda g, x: relax.op.permute_dims(x),
    "rows": lambda g, x: relax.op.reshape(x, (-1,)),
    "pad": lambda g, x: relax.op.nn.pad(x, [1, 2] * len(x.ty.shape), "constant", 0.3),
    "slice": lambda g, x: relax.op.strided_slice(x, [0], [0], [1000], [2]),
    "flip": lambda g, x: relax.op.flip(x, 0),
    "relu": lambda g, x: relax.op.nn.relu(x),
    "clip": lambda g, x: relax.op.clip(x, -0.4, 3.0),
    "max": lambda g, x: relax.op.max(x, [0], keepdims=True),
    "least": lambda g, x: relax.op.minimum(x, relax.const(np.float32(1.3))),
    "join": lambda g, x: relax.op.concat([x, x], 0),
}


@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
def test_chains_at_one_scale_give_the_same_integers(data):
    dtype, draw = data.draw(dtypes), data.draw
    names = draw(st.lists(st.sampled_from(sorted(MOVES)), min_size=1, max_size=5))
    parameters = draw(scales), draw(zero_points(dtype))

    def whole(graph, x):
        y = graph.dequantize(x, *parameters, dtype)
        for name in names:
            y = graph.emit(MOVES[name](graph, y))
        return graph.quantize(y, *parameters, dtype)

    mod = qdq_module(whole, ((4, 5, 3), dtype))
    assert float_counts(mod) == {}
    assert steps_of_built(mod) == 0
