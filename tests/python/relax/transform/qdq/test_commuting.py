"""Moves, clamps and choices between quantizers: the same integers as in float."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from support.qdq_models import (
    ZERO_POINTS,
    between,
    float_counts,
    integer_calls,
    parts_between,
    qdq_module,
    steps_apart,
)

pytestmark = pytest.mark.cc

SHAPE = (2, 4, 6, 5)
SAME = (0.1, -3)
"""The quantization of the inputs."""

MOVES = {
    "reshape": lambda g, x: relax.op.reshape(x, (8, 30)),
    "flatten": lambda g, x: relax.op.flatten(x),
    "batch_flatten": lambda g, x: relax.op.nn.batch_flatten(x),
    "permute_dims": lambda g, x: relax.op.permute_dims(x, [0, 2, 3, 1]),
    "squeeze": lambda g, x: relax.op.squeeze(g.emit(relax.op.expand_dims(x, [0, 2])), [0]),
    "slice": lambda g, x: relax.op.strided_slice(x, [1, -1], [3, 0], [-5, 4], [-2, 3]),
    "take": lambda g, x: relax.op.take(x, relax.const(np.array([2, 0, 3, 3])), 1),
    "flip": lambda g, x: relax.op.flip(x, 2),
    "tile": lambda g, x: relax.op.tile(x, (1, 2, 1, 1)),
    "repeat": lambda g, x: relax.op.repeat(x, 2, 3),
    "broadcast": lambda g, x: relax.op.broadcast_to(x, (3, *SHAPE)),
    "nearest": lambda g, x: relax.op.image.resize2d(
        x, (12, 10), method="nearest_neighbor", coordinate_transformation_mode="asymmetric"
    ),
    "pad": lambda g, x: relax.op.nn.pad(x, [0, 0, 1, 2, 0, 0, 3, 0], "constant", 0.0),
    "mirror": lambda g, x: relax.op.nn.pad(x, [0, 0, 1, 2, 0, 0, 3, 0], "reflect"),
    "split": lambda g, x: relax.op.split(x, [1, 3], 1)[1],
    "chain": lambda g, x: relax.op.permute_dims(
        g.emit(relax.op.nn.relu(g.emit(relax.op.reshape(x, (8, 30)))))
    ),
}
CHOICES = {
    "relu": lambda g, x: relax.op.nn.relu(x),
    "relu6": lambda g, x: relax.op.nn.relu6(x),
    "clip": lambda g, x: relax.op.clip(x, -1.25, 3.05),
    "max_pool": lambda g, x: relax.op.nn.max_pool2d(x, (3, 2), (2, 1), (1, 0, 2, 1)),
    "max_pool ceil": lambda g, x: relax.op.nn.max_pool2d(x, 2, 2, 0, ceil_mode=True),
    "max_pool NHWC": lambda g, x: relax.op.nn.max_pool2d(x, 3, 2, 1, layout="NHWC"),
    "max": lambda g, x: relax.op.max(x, [1, -1], keepdims=True),
    "min": lambda g, x: relax.op.min(x),
    "maximum": lambda g, x: relax.op.maximum(x, relax.const(np.float32(0.33))),
    "minimum": lambda g, x: relax.op.minimum(g.emit(relax.op.nn.relu(x)), x),
}


@pytest.mark.parametrize("name", [*MOVES, *CHOICES])
def test_at_one_scale_the_integers_are_the_same(name):
    function = {**MOVES, **CHOICES}[name]

    def whole(graph, *params):
        return tuple(
            parts_between(graph, function, [x], dtype, 0.1, (0.1, zero_point))
            for x, (dtype, zero_point) in zip(params, ZERO_POINTS.items(), strict=True)
        )

    mod = qdq_module(whole, *((SHAPE, dtype) for dtype in ZERO_POINTS))
    assert not {"quantize", "dequantize", "requantize"} & set(integer_calls(mod))
    assert float_counts(mod) == {}
    assert steps_apart(mod) == 0


@pytest.mark.parametrize("name", [*MOVES, *CHOICES])
def test_at_two_scales_they_are_rescaled_once(name):
    mod = between({**MOVES, **CHOICES}[name], SHAPE, out=(0.043, 11))
    assert {"requantize", "relu"} & set(integer_calls(mod))
    assert float_counts(mod) == {}
    assert steps_apart(mod) <= 1


def test_max_pool_of_rows():
    mod = between(lambda g, x: relax.op.nn.max_pool1d(x, 3, 2, (1, 1)), (1, 4, 9), out=SAME)
    assert integer_calls(mod) == ["max_pool"]
    assert steps_apart(mod) == 0


@pytest.mark.parametrize("value", [0.55, -1000.0, 1000.0, float("inf")])
@pytest.mark.parametrize("out", [SAME, (0.013, 7)], ids=str)
def test_a_pad_with_any_number(value, out):
    """What is added is quantized at the scale of the result, not at that of the data."""
    mod = between(lambda g, x: relax.op.nn.pad(x, [0, 1, 2, 0], "constant", value), (3, 4), out=out)
    assert float_counts(mod) == {}
    assert steps_apart(mod) <= (0 if out == SAME else 1)


def test_clamps_around_a_pad():
    """The zeros that the pad adds are above the inner limits and below the outer ones."""

    def body(graph, x):
        inner = graph.emit(relax.op.clip(x, -9, -2))
        padded = graph.emit(relax.op.nn.pad(inner, [1, 1, 1, 1]))
        return relax.op.clip(padded, -5, -1)

    mod = between(body, (3, 4), out=SAME)
    assert integer_calls(mod) == ["clamp", "pad"]
    assert steps_apart(mod) == 0


JOINS = {
    "same": ((0.1, -3), (0.1, -3), (0.1, -3), 0),
    "one differs": ((0.1, -3), (0.3, 7), (0.1, -3), 1),
    "all differ": ((0.1, -3), (0.3, 7), (0.2, 4), 2),
}


@pytest.mark.parametrize("join", JOINS)
def test_joins(join):
    first, second, result, rescaled = JOINS[join]

    def whole(graph, x, y):
        parts = [graph.dequantize(x, *first), graph.dequantize(y, *second)]
        return graph.quantize(graph.emit(relax.op.concat(parts, 1)), *result)

    mod = qdq_module(whole, ((2, 3), "int8"), ((2, 5), "int8"))
    calls = integer_calls(mod)
    assert calls[-1] == "concat"
    # By a table where the ratio of scales gives halves, which float products and quotients tell
    # apart.
    assert [c.rstrip("1") in ("requantize", "table") for c in calls[:-1]] == [True] * rescaled
    assert steps_apart(mod) == 0


def test_a_join_with_constants_and_results():
    def body(graph, x):
        constant = relax.const(np.linspace(-3, 3, 6, dtype="float32").reshape(2, 3))
        stored = graph.dequantize(np.arange(4).reshape(2, 2), 0.3, 1)
        parts = [graph.emit(relax.op.nn.relu(x)), constant, stored, x]
        return relax.op.concat(parts, -1)

    mod = between(body, (2, 5), out=SAME)
    assert integer_calls(mod) == ["clamp", "concat"]
    assert steps_apart(mod) == 0


def test_stacks():
    mod = between(lambda g, x, y: relax.op.stack([x, y], 1), (2, 5), (2, 5), out=SAME)
    assert float_counts(mod) == {}
    assert steps_apart(mod) == 0


def test_a_join_with_a_float_part_stays_in_float():
    def whole(graph, x, y):
        return graph.quantize(graph.emit(relax.op.concat([graph.dequantize(x), y], 1)))

    mod = qdq_module(whole, ((2, 3), "int8"), ((2, 5), "float32"))
    assert float_counts(mod) == {"concat": 1}
    assert steps_apart(mod) == 0


def test_all_parts_of_a_split():
    def whole(graph, x):
        parts = graph.emit(relax.op.split(graph.dequantize(x), 3, -1))
        quantized = [(0.1, -3), (0.1, -3), (0.2, 4)]
        return tuple(graph.quantize(graph.emit(parts[i]), *p) for i, p in enumerate(quantized))

    mod = qdq_module(whole, ((2, 9), "int8"))
    assert float_counts(mod) == {}
    assert "split" not in integer_calls(mod)
    assert steps_apart(mod) <= 1


def test_a_clamp_of_a_product_before_a_move():
    """Whatever stands between the product and R.quantize, it is done in integers."""

    def body(graph, x):
        w = graph.dequantize(np.arange(-14, 14).reshape(7, 4), 0.02, 0)
        y = graph.emit(relax.op.nn.relu(graph.emit(relax.op.matmul(x, w))))
        rows = graph.emit(relax.op.permute_dims(graph.emit(relax.op.reshape(y, (2, 3, 4)))))
        return relax.op.clip(rows, 0.0, 5.0)

    mod = between(body, (6, 7))
    assert integer_calls(mod) == ["fully_connected", "permute_dims"]
    assert steps_apart(mod) <= 1


@pytest.mark.parametrize("operator", [relax.op.argmax, relax.op.argmin])
def test_positions_are_those_among_the_integers(operator):
    mod = qdq_module(lambda g, x: operator(g.dequantize(x), 1), ((3, 40), "int8"))
    assert integer_calls(mod) == [operator.__name__]
    assert steps_apart(mod) == 0


def test_a_change_of_scale_that_may_overflow_stays_in_float():
    mod = between(lambda g, x: x, (300,), dtype="int16", scale=100.0, out=(1e-4, 0))
    assert integer_calls(mod) == ["dequantize", "quantize"]
    assert steps_apart(mod) == 0


def test_rows_of_a_constant_table():
    """An embedding: the table is rescaled at compile time, its rows are taken at run time."""

    def whole(graph, indices):
        table = graph.dequantize(
            np.arange(-60, 60).reshape(8, 15), 0.1 + np.arange(8), [0] * 8, axis=0
        )
        return graph.quantize(graph.emit(relax.op.take(table, indices, 0)), 5.0, 3)

    mod = qdq_module(whole, ((4,), "int8"))
    assert integer_calls(mod) == ["take"]
