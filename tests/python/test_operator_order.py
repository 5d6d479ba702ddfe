"""Models whose operators can run in several orders: the same outputs in less memory."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

import usmp
from support.levels import number
from support.main_calls import called
from support.planner_contexts import planner_context
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME

pytestmark = pytest.mark.slow

WIDTH = 8


class Network:
    """A Relax module that is put together operator by operator, with random weights."""

    def __init__(self) -> None:
        self.builder = relax.BlockBuilder()
        self.random = np.random.default_rng(0)
        self.x = relax.Var("x", relax.TensorType((1, 4, WIDTH, WIDTH), "float32"))

    def convolution(self, value: relax.Expr, channels: int, kernel: int = 1, stride: int = 1):
        shape = (channels, int(value.ty.shape[1]), kernel, kernel)
        weight = relax.const(self.random.standard_normal(shape).astype("float32"))
        padding = kernel // 2
        call = relax.op.nn.conv2d(value, weight, strides=stride, padding=padding)
        return self.builder.emit(call)

    def emit(self, call: relax.Expr):
        return self.builder.emit(call)

    def finish(self, make) -> tvm.IRModule:
        with self.builder.function("main", [self.x]):
            with self.builder.dataflow():
                output = self.builder.emit_output(make(self, self.x))
            self.builder.emit_func_output(output)
        return self.builder.finalize()


def inception(net: Network, x: relax.Expr) -> relax.Expr:
    """Four branches, as an exporter writes them that goes level by level."""
    wide = [net.convolution(x, 16, kernel) for kernel in (1, 3, 1, 3)]
    pooled = [net.emit(relax.op.nn.max_pool2d(w, (2, 2), strides=(2, 2))) for w in wide]
    return net.emit(relax.op.concat(pooled, axis=1))


def dense(net: Network, x: relax.Expr) -> relax.Expr:
    """Each layer reads all before it; what joins them can be copied early or late."""
    features = [x]
    for _ in range(3):
        joined = net.emit(relax.op.concat(features, axis=1)) if len(features) > 1 else x
        features.append(net.convolution(joined, 4, 3))
    return net.emit(relax.op.concat(features, axis=1))


def heads(net: Network, x: relax.Expr) -> relax.Expr:
    """A detector: each scale has heads of its own, which are made after all scales."""
    scales = [net.convolution(x, 16, 3)]
    scales.append(net.convolution(scales[0], 24, 3, stride=2))
    scales.append(net.convolution(scales[1], 32, 3, stride=2))
    flat = []
    for scale in scales:
        head = net.convolution(scale, 2)
        flat.append(net.emit(relax.op.reshape(head, (1, -1))))
    return net.emit(relax.op.concat(flat, axis=1))


def built(mod: tvm.IRModule, **options):
    """With one operator after the other."""
    options["disabled_pass"] = ("StreamOperators", *options.get("disabled_pass", ()))
    with planner_context(options, opt_level=3):
        return usmp.build(mod)


def peak(factory) -> int:
    (pool,) = [p for p in memory(factory)["pools"] if p["kind"] == "workspace"]
    return pool["peak_bytes"]


def memory(factory) -> dict:
    return factory.metadata["modules"]["default"]["memory"]


@pytest.mark.cc
@pytest.mark.parametrize(
    ("make", "workspace_io", "most"),
    [
        *((inception, False, 0.26), (heads, True, 0.93), (dense, False, 1)),
        *((inception, True, 0.47), (heads, False, 0.91), (dense, True, 1)),
    ][: number(3, 6)],
)
def test_outputs_are_the_same_in_less_memory(make, workspace_io, most):
    """At most so much of the peak in the importer's order."""
    mod = Network().finish(make)
    options = {"use_workspace_io": workspace_io}
    kept, ordered = built(mod, disabled_pass=("OrderOperators",), **options), built(mod, **options)
    x = np.random.default_rng(1).standard_normal((1, 4, WIDTH, WIDTH)).astype("float32")
    expected, got = kept.run({"x": x}), ordered.run({"x": x})
    assert list(got) == list(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(got[name], values)
    assert peak(ordered) <= most * peak(kept)
    # Which copies are worth while depends on the order.
    calls = [
        [name for name in called(f.ir_mod[MAIN_FUNCTION_NAME]) if "copy" not in name]
        for f in (kept, ordered)
    ]
    assert sorted(calls[0]) == sorted(calls[1])
    if calls[0] != calls[1]:
        assert peak(ordered) < peak(kept)


def test_metadata_tells_what_the_order_does():
    mod = Network().finish(inception)
    kept, ordered = built(mod, disabled_pass=("OrderOperators",)), built(mod)
    assert "operator_order" not in memory(kept)
    order = memory(ordered)["operator_order"]
    assert order["optimal"] is True
    assert order["least_live_bytes"] == order["live_bytes"] < order["importer_live_bytes"]
    assert peak(ordered) == pytest.approx(order["live_bytes"], rel=0.01)
    assert peak(kept) == pytest.approx(order["importer_live_bytes"], rel=0.01)


def test_bytes_of_its_own_for_every_buffer_keep_the_order():
    mod = Network().finish(inception)
    plain = built(mod, algorithm="no_sharing")
    calls = [
        f.ir_mod[MAIN_FUNCTION_NAME] for f in (plain, built(mod, disabled_pass=("OrderOperators",)))
    ]
    assert called(calls[0]) == called(calls[1])


def test_the_same_model_gives_the_same_bytes():
    first, second = (built(Network().finish(inception)).source for _ in range(2))
    assert first == second
