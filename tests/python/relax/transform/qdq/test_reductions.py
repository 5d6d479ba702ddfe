"""Average pools, means and sums between quantizers, against float."""

from __future__ import annotations

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

SHAPE = (1, 3, 7, 6)
SAME = (0.1, -3)
POOLS = {
    "plain": {"pool_size": (2, 3), "strides": (2, 1)},
    "padding": {"pool_size": 3, "strides": 2, "padding": (1, 0, 1, 2)},
    "counted padding": {"pool_size": 3, "strides": 2, "padding": (1, 0, 1, 2), "counts": True},
    "ceil": {"pool_size": 3, "strides": 2, "ceil_mode": True},
    "ceil and padding": {"pool_size": 3, "strides": 3, "padding": 1, "ceil_mode": True},
    "counted ceil": {"pool_size": (3, 4), "strides": 2, "ceil_mode": True, "counts": True},
    "five": {"pool_size": 5, "strides": 1, "padding": 2},
}


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("form", POOLS)
def test_average_pools(form, layout):
    options = {"count_include_pad": POOLS[form].get("counts", False), "layout": layout}
    options |= {key: value for key, value in POOLS[form].items() if key != "counts"}
    outs = [SAME, (0.037, 9), (0.4, -100)]
    shape = SHAPE if layout == "NCHW" else (1, 7, 6, 3)
    mod = between(lambda g, x: relax.op.nn.avg_pool2d(x, **options), shape, out=outs)
    assert [call.split("_pool")[0] for call in integer_calls(mod)] == ["average"] * 3
    assert float_counts(mod) == {}
    assert steps_apart(mod) <= 1


def test_a_dilated_pool_stays_in_float():
    mod = between(lambda g, x: relax.op.nn.avg_pool2d(x, 2, dilation=2), SHAPE)
    assert float_counts(mod) == {"avg_pool2d": 1}


@pytest.mark.cc
def test_pools_of_rows():
    mod = between(lambda g, x: relax.op.nn.avg_pool1d(x, 3, 2, 1), (2, 3, 9), dtype="uint8")
    assert integer_calls(mod) == ["average_pool"]
    assert steps_apart(mod) <= 1


@pytest.mark.cc
def test_activations_of_pools():
    def body(graph, x):
        return relax.op.nn.relu6(graph.emit(relax.op.nn.avg_pool2d(x, 3, padding=1)))

    mod = between(body, SHAPE, out=(0.03, -128))
    assert integer_calls(mod) == ["average_pool"]
    assert steps_apart(mod) <= 1


TYPES = [("int8", 0.1, (0.09, 5)), ("uint8", 0.1, (0.09, 99)), ("int16", 0.002, (0.09, 0))]
REDUCTIONS = {
    "rows and columns": lambda x: relax.op.mean(x, [2, 3]),
    "kept": lambda x: relax.op.mean(x, [2, 3], keepdims=True),
    "channels": lambda x: relax.op.mean(x, [1]),
    "last": lambda x: relax.op.mean(x, [-1], keepdims=True),
    "all": lambda x: relax.op.mean(x),
    "adaptive": lambda x: relax.op.nn.adaptive_avg_pool2d(x, 1),
    "adaptive NHWC": lambda x: relax.op.nn.adaptive_avg_pool2d(x, 1, layout="NHWC"),
    "sum": lambda x: relax.op.sum(x, [1]),
    "sum of all": lambda x: relax.op.sum(x, keepdims=True),
}


@pytest.mark.cc
@pytest.mark.parametrize("form", REDUCTIONS)
def test_reductions(form):
    def whole(graph, *params):
        return tuple(
            parts_between(graph, lambda g, x: REDUCTIONS[form](x), [x], dtype, scale, out)
            for x, (dtype, scale, out) in zip(params, TYPES, strict=True)
        )

    mod = qdq_module(whole, *((SHAPE, dtype) for dtype, _, _ in TYPES))
    kind = "sum" if "sum" in form else "mean"
    assert [call.rstrip("_12") for call in integer_calls(mod)] == [kind] * 3
    assert float_counts(mod) == {}
    assert steps_apart(mod) <= 1


@pytest.mark.cc
def test_activations_of_means():
    def body(graph, x):
        return relax.op.nn.relu(graph.emit(relax.op.mean(x, [2, 3])))

    mod = between(body, (1, 40, 3, 2), out=(0.05, -20))
    assert integer_calls(mod) == ["mean", "clamp"]
    assert steps_apart(mod) <= 1


def test_an_adaptive_pool_to_more_elements_stays_in_float():
    mod = between(lambda g, x: relax.op.nn.adaptive_avg_pool2d(x, 2), SHAPE)
    assert float_counts(mod) == {"adaptive_avg_pool2d": 1}


@pytest.mark.parametrize("operator", [relax.op.mean, relax.op.sum])
def test_sums_that_may_overflow_stay_in_float(operator):
    mod = between(lambda g, x: operator(x), (70000,), dtype="int16", out=(0.1, 0))
    assert float_counts(mod) == {operator.__name__: 1}
