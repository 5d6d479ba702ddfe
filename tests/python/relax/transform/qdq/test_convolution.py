"""Convolutions between quantizers: every form that importers write, against float."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from support.qdq_models import between, float_counts, integer_calls, qdq_module, steps_apart

pytestmark = pytest.mark.cc

GENERATOR = np.random.default_rng(0)
IMAGE = (1, 4, 7, 6)


def integers(*shape, low=-127, high=128):
    return GENERATOR.integers(low, high, shape)


def weight(graph, shape, axis=0, dtype="int8", zero_point=0, per_channel=True):
    scale = GENERATOR.uniform(0.002, 0.02, shape[axis]) if per_channel else 0.01
    zero_points = np.full(shape[axis], zero_point) if per_channel else zero_point
    low = 0 if dtype == "uint8" else -127
    return graph.dequantize(integers(*shape, low=low), scale, zero_points, dtype, axis)


def convolution(shape, weight_shape, axis=0, operator="conv2d", kernel=None, **options):
    """A module with one convolution of integers."""
    kernel = kernel or {}

    def body(graph, x):
        function = getattr(relax.op.nn, operator)
        return function(x, weight(graph, weight_shape, axis, **kernel), **options)

    return between(body, shape)


FORMS = {
    "plain": (IMAGE, (5, 4, 3, 3), 0, {}),
    "asymmetric padding": (IMAGE, (5, 4, 3, 3), 0, {"padding": (0, 2, 1, 0)}),
    "strides": (IMAGE, (5, 4, 3, 2), 0, {"strides": (2, 3), "padding": (1, 0, 2, 1)}),
    "dilation": (IMAGE, (5, 4, 3, 2), 0, {"dilation": (2, 3), "padding": (1, 2, 0, 1)}),
    "groups": (IMAGE, (6, 2, 3, 3), 0, {"groups": 2, "padding": 1}),
    "depthwise": (IMAGE, (4, 1, 3, 3), 0, {"groups": 4, "padding": (0, 1, 1, 0)}),
    "multiplier": (IMAGE, (8, 1, 3, 3), 0, {"groups": 4, "padding": 1}),
    "one channel": ((1, 1, 5, 5), (3, 1, 3, 3), 0, {}),
    "batch": ((3, 4, 5, 5), (2, 4, 3, 3), 0, {}),
    "HWIO": ((1, 7, 6, 4), (3, 3, 4, 5), 3, {"data_layout": "NHWC", "kernel_layout": "HWIO"}),
    "OHWI": (
        (1, 7, 6, 4),
        (5, 3, 3, 4),
        0,
        {"data_layout": "NHWC", "kernel_layout": "OHWI", "padding": (1, 0, 0, 2)},
    ),
    "HWIO groups": (
        (1, 7, 6, 4),
        (3, 3, 2, 6),
        3,
        {"data_layout": "NHWC", "kernel_layout": "HWIO", "groups": 2},
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    shape, weight_shape, axis, options = FORMS[form]
    mod = convolution(shape, weight_shape, axis, **options)
    kind = "depthwise_conv2d" if form in ("depthwise", "multiplier", "one channel") else "conv2d"
    assert integer_calls(mod) == [kind]
    assert float_counts(mod) == {}
    assert steps_apart(mod) <= 1


ROWS = {
    "plain": ((2, 4, 9), (5, 4, 3), 0, {}),
    "padding": ((1, 4, 9), (5, 4, 3), 0, {"padding": (2, 1), "strides": 2, "dilation": 2}),
    "depthwise": ((1, 4, 9), (4, 1, 3), 0, {"groups": 4, "padding": 1}),
    "NWC": ((1, 9, 4), (3, 4, 5), 2, {"data_layout": "NWC", "kernel_layout": "WIO"}),
}


@pytest.mark.parametrize("form", ROWS)
def test_rows(form):
    shape, weight_shape, axis, options = ROWS[form]
    mod = convolution(shape, weight_shape, axis, "conv1d", **options)
    assert integer_calls(mod) == ["depthwise_conv2d" if form == "depthwise" else "conv2d"]
    assert steps_apart(mod) <= 1


TRANSPOSED = {
    "plain": ((1, 4, 3, 5), (4, 3, 2, 2), {"strides": (2, 2)}),
    "padding": ((1, 4, 4, 4), (4, 3, 3, 3), {"strides": (2, 1), "padding": (1, 0, 0, 2)}),
    "output padding": (
        (1, 4, 4, 4),
        (4, 3, 3, 3),
        {"strides": (2, 2), "padding": (1, 1, 1, 1), "output_padding": (1, 1)},
    ),
}


@pytest.mark.parametrize("form", TRANSPOSED)
def test_transposed(form):
    shape, weight_shape, options = TRANSPOSED[form]
    mod = convolution(shape, weight_shape, 1, "conv2d_transpose", **options)
    assert integer_calls(mod) == ["transpose_conv2d"]
    assert steps_apart(mod) <= 1


def test_transposed_rows():
    mod = convolution((1, 4, 5), (4, 3, 3), 1, "conv1d_transpose", strides=2, padding=1)
    assert integer_calls(mod) == ["transpose_conv2d"]
    assert steps_apart(mod) <= 1


@pytest.mark.parametrize("groups, dilation", [(2, 1), (1, 2)])
def test_other_transposed_ones_stay_in_float(groups, dilation):
    mod = convolution(
        (1, 4, 3, 5), (4, 3, 2, 2), 1, "conv2d_transpose", groups=groups, dilation=dilation
    )
    assert float_counts(mod) == {"conv2d_transpose": 1}


TYPES = [
    ("int8", "uint8", "uint8", 7, False),
    ("uint8", "int8", "uint8", 0, True),
    ("uint8", "uint8", "int8", 255, False),
    ("int8", "int8", "int8", -128, False),
    ("uint8", "int8", "int16", 127, False),
]


@pytest.mark.parametrize(("data", "kernel", "result", "zero_point", "per_channel"), TYPES)
def test_types_and_zero_points(data, kernel, result, zero_point, per_channel):
    def body(graph, x):
        w = weight(graph, (5, 4, 3, 3), 0, kernel, zero_point, per_channel)
        return relax.op.nn.conv2d(x, w, padding=1)

    mod = between(body, IMAGE, dtype=data, out=(0.4, 10), out_dtype=result)
    assert integer_calls(mod) == ["conv2d"]
    assert steps_apart(mod) <= 1


@pytest.mark.parametrize("zero_point", [-128, 127])
def test_zero_points_of_the_data_at_the_ends(zero_point):
    def body(graph, x):
        y = relax.op.nn.conv2d(
            graph.dequantize(x, 0.1, zero_point), weight(graph, (5, 4, 3, 3)), padding=1
        )
        return graph.quantize(graph.emit(y), 0.3, -zero_point - 1)

    mod = qdq_module(body, (IMAGE, "int8"))
    assert integer_calls(mod) == ["conv2d"]
    assert steps_apart(mod) <= 1


REFUSED = {
    "int16 data": lambda: between(
        lambda g, x: relax.op.nn.conv2d(x, weight(g, (5, 4, 3, 3))), IMAGE, dtype="int16"
    ),
    "scales of the input channels": lambda: convolution(IMAGE, (5, 4, 3, 3), 1),
    "zero points of channels": lambda: convolution(IMAGE, (5, 4, 3, 3), kernel={"zero_point": 3}),
    "a float weight": lambda: between(
        lambda g, x: relax.op.nn.conv2d(
            x, relax.const(GENERATOR.normal(size=(5, 4, 3, 3)).astype("float32"))
        ),
        IMAGE,
    ),
    "accumulators that may overflow": lambda: between(
        lambda g, x: relax.op.nn.conv2d(x, g.dequantize(np.full((1, 140000, 1, 1), 127))),
        (1, 140000, 1, 1),
    ),
    "a factor that may overflow": lambda: between(
        lambda g, x: relax.op.nn.conv2d(x, weight(g, (5, 4, 3, 3))), IMAGE, out=(1e-8, 4)
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_stays_in_float(reason):
    mod = REFUSED[reason]()
    assert integer_calls(mod)[-1] == "quantize"
    assert float_counts(mod) == {"conv2d": 1}


BIASES = {
    "(1, O, 1, 1)": (1, 5, 1, 1),
    "(O, 1, 1)": (5, 1, 1),
    "one number": (),
    "(1, 1)": (1, 1),
}


@pytest.mark.parametrize("is_float", [False, True], ids=["int32", "float32"])
@pytest.mark.parametrize("form", BIASES)
def test_biases(form, is_float):
    shape = BIASES[form]

    def body(graph, x):
        y = graph.emit(relax.op.nn.conv2d(x, weight(graph, (5, 4, 3, 3)), padding=1))
        if is_float:
            bias = relax.const(GENERATOR.normal(size=shape).astype("float32") * 4)
        else:
            values = np.asarray(GENERATOR.integers(-4000, 4000, shape))
            bias = graph.dequantize(values, 0.001, 0, "int32")
        return relax.op.add(bias, y) if is_float else relax.op.add(y, bias)

    mod = between(body, IMAGE)
    assert integer_calls(mod) == ["conv2d"]
    assert steps_apart(mod) <= 1


def test_a_bias_that_is_reshaped():
    def body(graph, x):
        y = graph.emit(relax.op.nn.conv2d(x, weight(graph, (5, 4, 3, 3))))
        bias = graph.dequantize(integers(5), np.full(5, 0.05), np.zeros(5), "int32", 0)
        return relax.op.add(y, graph.emit(relax.op.reshape(bias, (1, 5, 1, 1))))

    mod = between(body, IMAGE)
    assert integer_calls(mod) == ["conv2d"]
    assert steps_apart(mod) <= 1


@pytest.mark.parametrize("shape", [(5,), (5, 1), (1, 5, 5, 1), (1, 1, 1, 5)], ids=str)
def test_numbers_along_another_axis_are_no_bias(shape):
    """As many columns as output channels: broadcast along the columns or rows, not the channels."""

    def body(graph, x):
        y = graph.emit(relax.op.nn.conv2d(x, weight(graph, (5, 4, 3, 3)), padding=(1, 0, 1, 0)))
        return relax.op.add(y, relax.const(GENERATOR.normal(size=shape).astype("float32") * 4))

    mod = between(body, (1, 4, 5, 7))
    assert float_counts(mod) == {"add": 1, "conv2d": 1}
    assert steps_apart(mod) <= 1


def test_a_bias_between_coarse_steps_stays_in_float():
    def body(graph, x):
        w = graph.dequantize(integers(5, 4, 3, 3, low=-2, high=3), 10.0, 0)
        bias = GENERATOR.uniform(-20, 20, (1, 5, 1, 1)).astype("float32")
        return relax.op.add(graph.emit(relax.op.nn.conv2d(x, w)), relax.const(bias))

    mod = between(body, IMAGE, scale=1.0, out=(1.0, 0))
    assert float_counts(mod) == {"add": 1, "conv2d": 1}
    assert steps_apart(mod) == 0


CLAMPS = {
    "relu": (lambda y: relax.op.nn.relu(y), None),
    "relu6": (lambda y: relax.op.nn.relu6(y), None),
    "above the range": (lambda y: relax.op.clip(y, 1000, 2000), 127),
    "below the range": (lambda y: relax.op.clip(y, -2000, -1000), -128),
    "the wrong way round": (lambda y: relax.op.clip(y, 3, -1), 19),
    "one number": (lambda y: relax.op.clip(y, 2, 2), 14),
    "infinite": (lambda y: relax.op.clip(y, -float("inf"), float("inf")), None),
    "between steps": (lambda y: relax.op.clip(y, -0.5, 1.3), None),
}


@pytest.mark.parametrize("clamp", CLAMPS)
def test_clamps_are_fused(clamp):
    function, constant = CLAMPS[clamp]

    def body(graph, x):
        return function(graph.emit(relax.op.nn.conv2d(x, weight(graph, (5, 4, 3, 3)))))

    mod = between(body, IMAGE)
    assert integer_calls(mod) == ["conv2d"]
    assert steps_apart(mod) <= (1 if constant is None else 0)


@pytest.mark.parametrize(
    ("outer", "inner"), [((0, 1), (2, 3)), ((0, 1), (-3, -2)), ((-1, 3), (0, 2)), ((0, 2), (-1, 3))]
)
def test_chains_of_clamps(outer, inner):
    def body(graph, x):
        y = graph.emit(relax.op.nn.conv2d(x, weight(graph, (5, 4, 3, 3))))
        return relax.op.clip(graph.emit(relax.op.clip(y, *inner)), *outer)

    mod = between(body, IMAGE)
    assert integer_calls(mod) == ["conv2d"]
    assert steps_apart(mod) <= 1


def test_a_pad_of_the_data_is_done_in_integers():
    def body(graph, x):
        padded = graph.emit(relax.op.nn.pad(x, [0, 0, 0, 0, 1, 0, 0, 2]))
        return relax.op.nn.conv2d(padded, weight(graph, (5, 4, 3, 3)))

    mod = between(body, IMAGE)
    assert integer_calls(mod) == ["pad", "conv2d"]
    assert steps_apart(mod) <= 1


def test_a_pad_with_what_no_integer_stands_for_stays_in_float():
    def body(graph, x):
        padded = graph.emit(relax.op.nn.pad(x, [0, 0, 0, 0, 1, 0, 0, 2], pad_value=0.55))
        return relax.op.nn.conv2d(padded, weight(graph, (5, 4, 3, 3)))

    mod = between(body, IMAGE)
    assert float_counts(mod) == {"conv2d": 1, "pad": 1}
    assert steps_apart(mod) <= 1
