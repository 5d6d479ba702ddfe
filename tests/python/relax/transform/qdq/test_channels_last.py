"""Images with their channels last give the bytes that those with channels first give."""

from __future__ import annotations

from collections import Counter
from math import prod

import numpy as np
import pytest
from tvm import relax
from tvm.ir import GenericConst
from tvm.ir.transform import PassContext

import usmp
from support.planner_contexts import planner_context
from support.qdq_models import (
    calls_of,
    float_counts,
    inputs_of,
    integer_calls,
    integer_module,
    qdq_module,
    raw_calls_of,
)
from support.relax_vm import integer_function
from usmp.planning.session import planning_session
from usmp.relax.transform import ConvertQDQToIntegers, PruneConstantChannels
from usmp.relax.transform.qdq import copies_pay, put_channels_last, use_integer_operators

pytestmark = pytest.mark.cc

GENERATOR = np.random.default_rng(7)


def integers(*shape):
    return GENERATOR.integers(-127, 128, shape)


class Network:
    """A quantized graph, each operator of which is quantized again."""

    def __init__(self, graph, x):
        self.graph, self.x = graph, graph.dequantize(x)

    def again(self, y):
        y = self.graph.emit(y)
        return self.graph.dequantize(self.graph.quantize(y), 0.2, 4)

    def convolution(
        self, x, outputs, kernel=3, bias=True, operator="conv2d", constant=0, **options
    ):
        graph, rank = self.graph, len(x.ty.shape) - 2
        inputs = int(x.ty.shape[1]) // options.get("groups", 1)
        shape = (inputs, outputs) if "transpose" in operator else (outputs, inputs)
        weight = integers(*shape, *[kernel] * rank)
        weight[:constant] = 0
        options = {"padding": kernel // 2, **options}
        y = getattr(relax.op.nn, operator)(x, graph.dequantize(weight, 0.01, 0), **options)
        if bias:
            added = relax.const(GENERATOR.normal(size=(outputs, *[1] * rank)).astype("float32"))
            y = relax.op.add(graph.emit(y), added)
        return self.again(y)

    def constant(self, *shape):
        return self.graph.dequantize(integers(*shape), 0.05, 0)


def network(body, shape=(1, 3, 8, 6), begin="conv2d"):
    """A convolution, what `body` makes of its result, and another convolution of an image."""

    def whole(graph, x):
        net = Network(graph, x)
        y = body(net, net.convolution(net.x, 4, operator=begin))
        if len(y.ty.shape) == len(shape):
            y = net.convolution(y, 5, 1, operator=begin)
        return graph.quantize(y)

    return qdq_module(whole, (shape, "int8"))


def kinds(mod):
    """The integer operators by their kind, without transpositions."""
    return Counter(name.rstrip("0123456789") for name in integer_calls(mod) if "_dims" not in name)


def assert_same_bytes(mod, copies=()):
    """The same with channels last, and the images that are copied to another order, by rank."""
    first, last = integer_module(mod), use_integer_operators(put_channels_last(mod))
    inputs = inputs_of(mod)
    expected, actual = (integer_function(each)(inputs) for each in (first, last))
    assert [a.tobytes() for a in actual] == [e.tobytes() for e in expected]
    assert [a.shape for a in actual] == [e.shape for e in expected]
    assert calls_of(last).count("permute_dims") == len(copies)
    assert kinds(last) == kinds(first)
    return last


def mean(net, x, axes=(2, 3), keepdims=True):
    return net.again(relax.op.mean(x, list(axes), keepdims))


def excited(net, x):
    """Squeeze and excitation: channels times numbers that are made of their means."""
    scale = net.convolution(mean(net, x), 4, 1)
    return net.again(relax.op.multiply(x, net.again(relax.op.sigmoid(scale))))


def by_tables(net, x):
    x = net.again(relax.op.nn.leakyrelu(x, 0.1))
    half = relax.op.clip(relax.op.add(x, relax.const(3.0)), 0, 6)
    return net.again(relax.op.multiply(x, net.graph.emit(half)))


def per_channel(net, x):
    """Constants of one number a channel, of all ranks that broadcast."""
    for shape in ((1, 4, 1, 1), (4, 1, 1), (1, 4, 8, 6), (6,)):
        x = net.again(relax.op.add(x, net.constant(*shape)))
    return x


def fire(net, x):
    return net.again(relax.op.concat([net.convolution(x, 8, 1), net.convolution(x, 8)], 1))


def shuffled(net, x):
    """Halves of the channels that change their places."""
    halves = [relax.op.strided_slice(x, [1], [b], [b + 2]) for b in (2, 0)]
    return net.again(relax.op.concat([net.graph.emit(half) for half in halves], -3))


BODIES = {
    "residual": lambda net, x: net.again(relax.op.add(x, net.convolution(x, 4))),
    "depthwise": lambda net, x: net.convolution(x, 4, groups=4, strides=2),
    "groups": lambda net, x: net.convolution(x, 4, groups=2, dilation=2, padding=2),
    "transposed": lambda net, x: net.convolution(
        x, 3, 2, bias=False, operator="conv2d_transpose", strides=2, padding=0
    ),
    "max pool": lambda net, x: net.again(
        relax.op.nn.max_pool2d(x, (3, 2), (2, 1), (1, 0, 0, 1), ceil_mode=True)
    ),
    "average pool": lambda net, x: net.again(
        relax.op.nn.avg_pool2d(x, (2, 3), (1, 2), (0, 1, 1, 1), count_include_pad=True)
    ),
    "adaptive pool": lambda net, x: net.again(relax.op.nn.adaptive_avg_pool2d(x, (1, 1))),
    "mean of rows": lambda net, x: mean(net, x, (2,)),
    "greatest": lambda net, x: net.again(relax.op.max(x, [-1], True)),
    "excited": excited,
    "tables": by_tables,
    "per channel": per_channel,
    "fire": fire,
    "shuffled": shuffled,
    "pad": lambda net, x: net.again(relax.op.nn.pad(x, [0, 0, 0, 1, 2, 0, 1, 1])),
    "slice": lambda net, x: net.again(relax.op.strided_slice(x, [2, -1], [1, 0], [7, 6], [2, 3])),
    "resize": lambda net, x: net.again(
        relax.op.image.resize2d(x, (16, 12), method="nearest_neighbor")
    ),
    "global mean": lambda net, x: mean(net, x, keepdims=False),
    "flattened mean": lambda net, x: net.graph.emit(relax.op.reshape(mean(net, x), (1, 4))),
    "highest channel": lambda net, x: net.again(relax.op.max(x, [1], False)),
    "transposed to channels last and back": lambda net, x: net.again(
        relax.op.permute_dims(net.again(relax.op.permute_dims(x, [0, 2, 3, 1])), [0, 3, 1, 2])
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_operators_between_convolutions(name):
    mod = network(BODIES[name])
    _, _, *extents = map(int, mod["main"].ret_ty.shape)
    is_image = len(extents) == 2 and prod(extents) > 1
    assert_same_bytes(mod, ("output",) if is_image else ())


@pytest.mark.slow
def test_images_of_one_dimension():
    def body(net, x):
        x = net.again(relax.op.nn.max_pool1d(x, (2,), (2,)))
        return net.convolution(x, 4, groups=4, operator="conv1d")

    assert_same_bytes(network(body, (2, 3, 9), "conv1d"), ("output",))


def test_flattened_images_are_read_where_they_are():
    """The columns of the weight are put in another order, not the image."""

    def body(net, x):
        rows = net.graph.emit(relax.op.reshape(x, (2, 4 * 8 * 6)))
        weight = net.graph.dequantize(integers(4 * 8 * 6, 3), 0.01, 0)
        return net.again(relax.op.matmul(rows, weight))

    assert_same_bytes(network(body, (2, 3, 8, 6)))


def test_order_of_channels_is_their_order():
    def body(graph, x):
        net = Network(graph, x)
        return graph.emit(relax.op.argmax(net.convolution(net.x, 4), 1))

    assert_same_bytes(qdq_module(body, ((1, 3, 8, 6), "int8")))


def test_what_has_one_channel_is_in_both_orders():
    def body(graph, x):
        net = Network(graph, x)
        return graph.quantize(net.convolution(net.convolution(net.x, 4), 1))

    last = assert_same_bytes(qdq_module(body, ((1, 1, 8, 6), "int8")))
    assert integer_calls(last) == ["depthwise_conv2d", "conv2d"]


@pytest.mark.slow
def test_networks_that_transpose_images_themselves():
    """As those of TensorFlow that were converted to ONNX."""

    def body(graph, x):
        first = graph.emit(relax.op.permute_dims(graph.dequantize(x), [0, 3, 1, 2]))
        net = Network(graph, x)
        y = net.convolution(net.convolution(first, 4), 5)
        return graph.quantize(relax.op.permute_dims(y, [0, 2, 3, 1]))

    assert_same_bytes(qdq_module(body, ((1, 8, 6, 3), "int8")))


@pytest.mark.slow
def test_constant_channels_are_removed():
    """Of a convolution that reads its image with channels first, and of those that read them."""

    def body(graph, x):
        net = Network(graph, x)
        y = net.convolution(net.x, 20, bias=False, constant=12)
        y = net.convolution(net.convolution(y, 20, groups=20, bias=False), 5)
        return graph.quantize(relax.op.mean(y, [2, 3]))

    mod = qdq_module(body, ((1, 3, 8, 6), "int8"))
    last = assert_same_bytes(mod)
    pruned = [prune(use_integer_operators(mod)), prune(last)]
    assert pruned[0] == pruned[1] == [(8, 3, 3, 3), (3, 3, 8), (5, 3, 3, 8)]


def prune(mod):
    """The shapes of the weights that are left, in the order of operators."""
    calls = [c for c in raw_calls_of(PruneConstantChannels()(mod)) if "call_tir" in c.op.name]
    weights = [arg for c in calls for arg in c.args[1].fields if isinstance(arg, GenericConst)]
    return [w.value.numpy().shape for w in weights if w.value.numpy().ndim in (3, 4)]


@pytest.mark.slow
def test_several_readers_in_both_orders():
    def body(graph, x):
        net = Network(graph, x)
        y = net.convolution(net.x, 4)
        flat = graph.emit(relax.op.reshape(y, (1, 4 * 8 * 6)))
        return graph.quantize(net.convolution(y, 2)), graph.quantize(flat)

    assert_same_bytes(qdq_module(body, ((1, 3, 8, 6), "int8")), ("one", "other"))


def test_other_modules_are_returned_as_they_are():
    def body(graph, x):
        return graph.quantize(relax.op.nn.max_pool2d(graph.dequantize(x), (2, 2)))

    mod = qdq_module(body, ((1, 3, 8, 6), "int8"))
    assert put_channels_last(mod) is mod


def test_one_convolution_is_not_worth_a_copy():
    mod = qdq_module(
        lambda graph, x: graph.quantize(Network(graph, x).convolution(graph.dequantize(x), 4)),
        ((1, 3, 8, 6), "int8"),
    )
    last = use_integer_operators(put_channels_last(mod))
    assert calls_of(last)[-1] == "permute_dims"
    assert not copies_pay(use_integer_operators(mod), last)
    assert "permute_dims" not in calls_of(ConvertQDQToIntegers()(mod))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"groups": 2}, {"dilation": 2}])
def test_networks_with_float_convolutions_stay(options):
    """TVM has these transposed convolutions with channels first only."""

    def body(net, x):
        options_of = {"strides": 1, "padding": 1, **options}
        weight = net.graph.dequantize(integers(4, 4 // options.get("groups", 1), 3, 3), 0.01, 0)
        return net.again(relax.op.nn.conv2d_transpose(x, weight, **options_of))

    mod = network(lambda net, x: mean(net, body(net, x), keepdims=False))
    converted = ConvertQDQToIntegers()(mod)
    assert float_counts(mod) == {"conv2d_transpose": 1}
    assert calls_of(converted) == calls_of(use_integer_operators(mod))
    with PassContext(disabled_pass=["StreamOperators"]):
        usmp.build(mod)


@pytest.mark.slow
def test_sums_of_channels_and_others_stay_in_their_order():
    def body(graph, x):
        net = Network(graph, x)
        y = net.convolution(net.convolution(net.x, 4), 4)
        return graph.emit(relax.op.mean(graph.emit(relax.op.sigmoid(y)), [1, 2, 3]))

    assert_same_bytes(qdq_module(body, ((1, 3, 8, 6), "int8")), ("before the mean",))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "layout"),
    [
        ({"disabled_pass": ["StreamOperators"], "optimize": "ram"}, "NCHW"),
        ({"disabled_pass": ["StreamOperators"], "optimize": "balanced"}, "NCHW"),
        ({"optimize": "speed"}, "NHWC"),
        # What runs row by row needs no tensor as a whole.
        ({"optimize": "ram"}, "NHWC"),
    ],
    ids=str,
)
def test_memory_decides(config, layout):
    """Joined channels are parts of one tensor only where channels come first; rows only where they
    come last."""
    mod = network(lambda net, x: mean(net, fire(net, x), keepdims=False))
    modules = (mod, use_integer_operators(mod), use_integer_operators(put_channels_last(mod)))
    # Both layouts are lowered and planned for the comparison, too.
    with planning_session(), planner_context(config):
        factories = [usmp.build(each) for each in modules]
    taken, first, last = (factory.interface.workspace_size_bytes for factory in factories)
    is_streamed = config == {"optimize": "ram"}
    assert last * 1.05 < first if is_streamed else first * 1.05 < last
    assert taken == (last if layout == "NHWC" else first)
    assert factories[0].metadata["modules"]["default"]["image_layout"] == {
        "layout": layout,
        "channels_first_peak_bytes": first,
        "channels_last_peak_bytes": last,
    }
