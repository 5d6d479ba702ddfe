"""Models that are given the new rows of a window compute what they do of the whole window."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax
from tvm.ir import GlobalVar, IRModule
from tvm.ir.transform import PassContext

import usmp
from support.c_program import SANITIZERS, run_as_program
from support.planner_contexts import planner_context
from support.poison import poisoned
from support.relax_vm import integer_function
from support.time_networks import assert_slides, random_time_network, window_rows, windows
from usmp.aot.transform import ConvertWindowsToStates
from usmp.ops import quantized
from usmp.ops.emit import shape_of
from usmp.ops.quantized import (
    Layout,
    OutputLimits,
    Quantization,
    QuantizedMultiplier,
    Rescale,
    Window,
)
from usmp.passes import apply_passes
from usmp.support.errors import UnsupportedModelError

pytestmark = pytest.mark.cc

PLAIN = {"algorithm": "no_sharing", "disabled_pass": ("StreamOperators",)}
"""Builds faster; what is planned is tested with the states of other models."""
SCALE = Quantization("int8", (0.5,), (-5,))
LIMITS = OutputLimits("int8", -128, 127)
RESCALE = Rescale((QuantizedMultiplier(1 << 30, -4),), SCALE, LIMITS)
NHWC = Layout("NHWC")


def build(mod, *inputs: str, **options) -> usmp.AOTExecutorFactoryModule:
    with planner_context({**options, "stream_inputs": list(inputs)}):
        return usmp.build(mod)


def said(factory: usmp.AOTExecutorFactoryModule) -> dict:
    return factory.metadata["modules"]["default"]["windows"]


SEEDS = {1: 2, 4: 2, 57: 4}
"""Random networks, and hops that their strides divide."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_random_networks(seed):
    mod, hop = random_time_network(seed), SEEDS[seed]
    factory = build(mod, f"x:hop={hop}", **PLAIN)
    runs = window_rows(mod) // hop + 4
    assert_slides(factory.load(), mod, hop, runs)


# ---- networks of a few operators


class Network:
    """Operators over time, of int8: (1, rows, 1, channels)."""

    def __init__(self, rows: int = 12, channels: int = 2) -> None:
        self.builder = relax.BlockBuilder()
        self.random = np.random.default_rng(0)
        self.x = relax.Var("x", relax.TensorType((1, rows, 1, channels), "int8"))

    def build(self, make) -> IRModule:
        with self.builder.function("main", [self.x]):
            with self.builder.dataflow():
                y = self.builder.emit_output(make(self, self.x))
            self.builder.emit_func_output(y)
        mod = self.builder.get()
        main = mod["main"].with_attr("input_quantization", {"x": [0.5, -5]})
        return IRModule({**dict(mod.functions.items()), mod.get_global_var("main"): main})

    def conv(self, data, kernel: int, stride: int = 1, dilation: int = 1, pad: bool = False):
        _, rows, _, channels = (int(extent) for extent in data.ty.shape)
        reach = (kernel - 1) * dilation + 1
        before = (reach - 1) // 2 if pad else 0
        made = (rows + (reach - 1 if pad else 0) - reach) // stride + 1
        moves = Window((rows, 1), (kernel, 1), (stride, 1), (dilation, 1), (before, 0), (made, 1))
        weight = self.random.integers(-90, 90, (channels, kernel, 1, channels)).astype(np.int8)
        bias = self.random.integers(-500, 500, channels).astype(np.int32)
        ends = (bias, moves, SCALE, RESCALE, NHWC, SCALE)
        return self.builder.emit(quantized.conv2d(self.builder, data, weight, *ends))

    def add(self, left, right):
        three = (SCALE, SCALE, SCALE)
        return self.builder.emit(quantized.add(self.builder, left, right, three, LIMITS))

    def rows(self, data, begin: int, end: int):
        return self.builder.emit(relax.op.strided_slice(data, [1], [begin], [end]))

    def join(self, *parts):
        return self.builder.emit(relax.op.concat(list(parts), 3))

    def mean(self, data):
        return self.builder.emit(quantized.mean(self.builder, data, [1, 2], SCALE, SCALE))


def residual(n: Network, x):
    return n.mean(n.add(n.conv(n.conv(x, 3), 3), n.rows(x, 2, 10)))


def dilated(n: Network, x):
    return n.mean(n.conv(n.conv(x, 3, 1, 2), 2, 1, 3))


def joined(n: Network, x):
    return n.mean(n.conv(n.join(n.conv(x, 3), n.rows(n.conv(x, 1), 1, 11)), 2))


def strided(n: Network, x):
    return n.mean(n.conv(n.conv(x, 2, 2), 2))


def padded(n: Network, x):
    return n.mean(n.conv(n.conv(x, 3, pad=True), 3, pad=True))


def all_rows(n: Network, x):
    """The output is a window, too."""
    return n.conv(x, 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "hop", "state", "macs"),
    [
        # Rows before the first kernel, which the slice reads, too, before the second and the mean.
        (residual, 1, (2 + 2 + 7) * 2, 2 * 12),
        (residual, 2, (2 + 2 + 6) * 2, 2 * 24),
        (residual, 3, (2 + 2 + 5) * 2, 2 * 36),
        (dilated, 1, (4 + 3 + 4) * 2, 12 + 8),
        (joined, 1, None, 12 + 4 + 2 * 16),
        (strided, 2, (0 + 1 + 4) * 2, 8 + 8),
        (padded, 1, None, 12 * (1 + 2) + 12 * (2 + 3)),
        (all_rows, 5, (2 + 5) * 2, 5 * 12),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_is_kept_and_computed(make, hop, state, macs):
    mod = Network().build(make)
    factory = build(mod, f"x:hop={hop}", **PLAIN)
    assert said(factory)["macs"] == macs
    if state is not None:
        assert said(factory)["state_size_bytes"] == state
    assert_slides(factory.load(), mod, hop, 14)


@pytest.mark.slow
def test_whole_windows_from_where_a_stride_does_not_divide_the_hop():
    mod = Network().build(lambda n, x: n.mean(n.conv(n.conv(x, 3), 2, 2)))
    factory = build(mod, "x:hop=1", **PLAIN)
    assert said(factory) == {
        "inputs": {"x": {"rows": 1, "window_rows": 12}},
        "states": {
            "lv_window": {"tensor": "lv", "rows": 9},
            "x_window": {"tensor": "x", "rows": 2},
        },
        "state_size_bytes": (2 + 9) * 2,
        "macs": 12 + 5 * 8,
        "window_macs": 10 * 12 + 5 * 8,
        "whole": ["conv2d1"],
    }
    assert_slides(factory.load(), mod, 1, 14)


@pytest.mark.slow
def test_reset_forgets_the_window():
    mod = Network().build(residual)
    module = build(mod, "x:hop=1").load()
    (output,) = module.outputs
    rows = [new for new, _ in windows(mod, 1, 5)]
    first = [module.run({"x": new})[output] for new in rows]
    module.reset()
    again = [module.run({"x": new})[output] for new in rows]
    assert [value.tobytes() for value in again] == [value.tobytes() for value in first]


@pytest.mark.slow
def test_planned_memory():
    """All that is dead is overwritten after each call."""
    mod = Network().build(padded)
    factory = build(mod, "x:hop=2", use_workspace_io=True)
    assert_slides(poisoned(factory).load(), mod, 2, 10)


@pytest.mark.slow
def test_under_sanitizers(tmp_path):
    mod = Network().build(residual)
    factory = build(mod, "x:hop=2", use_workspace_io=True)
    whole, runs = integer_function(mod), [*windows(mod, 2, 12)]
    expected = b"".join(whole({"x": window})[0].tobytes() for _, window in runs)
    data = b"".join(new.tobytes() for new, _ in runs)
    assert run_as_program(factory, tmp_path, SANITIZERS, data) == expected


def two_inputs() -> IRModule:
    """A convolution over a window, of which each row is added to that of another input."""
    network = Network()
    z = relax.Var("z", relax.TensorType((1, 12, 1, 2), "int8"))
    with network.builder.function("main", [network.x, z]):
        with network.builder.dataflow():
            y = network.conv(network.x, 3)
            other = network.conv(z, 3)
            y = network.builder.emit_output(network.mean(network.add(y, other)))
        network.builder.emit_func_output(y)
    return network.builder.get()


@pytest.mark.slow
def test_two_windows():
    mod = two_inputs()
    both = build(mod, "x:hop=2", "z:hop=2", **PLAIN).load()
    one = build(mod, "x:hop=1", **PLAIN).load()
    whole = integer_function(mod)
    (output,) = both.outputs
    random = np.random.default_rng(0)
    x, z = (np.zeros((1, 12, 1, 2), np.int8) for _ in range(2))
    x_by_one = x
    for _ in range(8):
        new = random.integers(-128, 128, (2, 1, 2, 1, 2)).astype(np.int8)
        x, z = (np.concatenate([w[:, 2:], n], 1) for w, n in zip((x, z), new, strict=True))
        (expected,) = whole({"x": x, "z": z})
        assert both.run({"x": new[0], "z": new[1]})[output].tobytes() == expected.tobytes()
        x_by_one = np.concatenate([x_by_one[:, 1:], new[0][:, :1]], 1)
        (expected,) = whole({"x": x_by_one, "z": z})
        found = one.run({"x": np.ascontiguousarray(new[0][:, :1]), "z": z})[output]
        assert found.tobytes() == expected.tobytes()


@pytest.mark.slow
def test_a_window_and_an_input_by_rows():
    mod = two_inputs()
    module, whole = build(mod, "x:hop=2", "z").load(), integer_function(mod)
    (output,) = module.outputs
    random = np.random.default_rng(0)
    x = np.zeros((1, 12, 1, 2), np.int8)
    for _ in range(8):
        new = random.integers(-128, 128, (1, 2, 1, 2)).astype(np.int8)
        z = random.integers(-128, 128, x.shape).astype(np.int8)
        x = np.concatenate([x[:, 2:], new], 1)
        (expected,) = whole({"x": x, "z": z})
        assert module.run({"x": new, "z": z})[output].tobytes() == expected.tobytes()


# ---- what is refused


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["y:hop=1"], 'tir.usmp.stream_inputs: the model has no input "y". Its inputs: x'),
        (
            ["x:hop=12"],
            'input "x" is a window of 12 rows, so that a hop of 12 leaves nothing to keep; give '
            "less than 12 rows, or leave the hop out of tir.usmp.stream_inputs",
        ),
        (
            ["x:hop=3"],
            'input "x": conv2d takes its rows in steps of 2, of which the 3 that are new in each '
            "run are no multiple, so that nothing that the run before computed can be kept; give "
            "another hop, or leave it out of tir.usmp.stream_inputs",
        ),
    ],
)
def test_refused_windows(inputs, message):
    with pytest.raises(ValueError) as error:
        build(Network().build(strided), *inputs)
    assert str(error.value) == message


def viewed(network, x):
    """A mean of a view, which would keep as much as of the input."""
    return network.mean(network.builder.emit(relax.op.reshape(x, shape_of(x))))


@pytest.mark.parametrize("layers", [lambda n, x: n.mean(x), viewed])
def test_nothing_slides(layers):
    with pytest.raises(ValueError) as error:
        build(Network().build(layers), "x:hop=1")
    assert str(error.value) == (
        'input "x": the whole window of 12 rows is needed by mean, so that nothing that the run '
        "before computed can be kept; leave the hop out of tir.usmp.stream_inputs"
    )


def test_a_hop_that_leaves_no_row_of_a_result():
    with pytest.raises(ValueError) as error:
        build(Network().build(lambda n, x: n.conv(x, 2)), "x:hop=11")
    assert "in each run 11 rows of conv2d are new, of " in str(error.value)
    assert "give another hop" in str(error.value)


def test_one_row():
    with pytest.raises(ValueError) as error:
        build(Network(1, 1).build(lambda n, x: n.conv(x, 1)), "x:hop=1")
    assert str(error.value) == (
        'input "x" has one row only; rows are along the outermost axis that is longer than 1; '
        "leave it out of tir.usmp.stream_inputs"
    )


def test_no_main():
    mod = IRModule({GlobalVar("f"): Network().build(strided)["main"]})
    with (
        PassContext(config={"tir.usmp.stream_inputs": "x:hop=2"}),
        pytest.raises(UnsupportedModelError, match="no Relax function"),
    ):
        apply_passes(ConvertWindowsToStates(), mod)
