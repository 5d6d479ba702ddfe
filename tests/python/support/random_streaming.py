"""Random streaming networks: layers that keep the last rows of their inputs in variables.

The input is some rows of one step, (1, rows, 1, channels), as in keyword spotters. What differs
from network to network, beside the layers: where handles, reads and assignments stand, and on which
side of the kept rows the new ones are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import numpy as np

from support.quantized_models.model import Constant, Spec, add_input, int32, random_constant
from support.streaming_models import Streaming
from support.tflite_builder import options, per_tensor
from support.tflite_signatures import assign, handle

SPECS = {"int8": Spec((), 0.05, -7), "int16": Spec((), 0.0003, 0, "int16")}
BIAS_TYPES = {"int8": np.int32, "int16": np.int64}
SIGMOID = {"int8": Spec((), 1 / 256, -128), "int16": Spec((), 1 / 32768, 0, "int16")}
TANH = {"int8": Spec((), 1 / 128, 0), "int16": Spec((), 1 / 32768, 0, "int16")}
VALID = 1


@dataclass
class _Network:
    """A graph of which `value`, of `rows` and `channels`, is the newest tensor."""

    random: Random
    model: Streaming
    rows: int
    channels: int
    value: int = 0
    waiting: list[tuple[int, int]] = field(default_factory=list)
    """Variables, and values that are assigned to them in the end."""
    outputs: list[int] = field(default_factory=list)
    variables: int = 0

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def tensor(self, rows: int, channels: int) -> int:
        shape = (1, rows, 1, channels)
        spec = self.model.spec
        return self.model.main.tensor(shape, spec.dtype, spec.quantization)

    def apply(self, code: str, inputs: list[int], rows: int, channels: int, table=None) -> int:
        result = self.tensor(rows, channels)
        self.model.main.operator(code, inputs, [result], table)
        return result

    def window(self, value: int, kept: int, channels: int) -> int:
        """The rows of `value` with as many of those before as are kept."""
        if not kept:
            return value
        model, total = self.model, kept + self.rows
        name = f"v{self.variables}"
        self.variables += 1
        shape = (1, kept, 1, channels)
        handle = model.start(name, *shape, number=self.variables)
        before = model.read(handle, *shape)
        again = model.read(handle, *shape) if self.chance(0.1) else before
        in_front = self.chance(0.15)
        joined = model.concat(
            [value, before] if in_front else [before, value], 1, 1, total, 1, channels
        )
        first = 0 if in_front else self.rows
        newest = model.part(joined, [0, first, 0, 0], [1, first + kept, 1, channels], *shape)
        if self.chance(0.1):
            newest = model.add(newest, again, shape)
        if self.chance(0.3):
            self.waiting.append((handle, newest))
        else:
            model.assign(model.variable(name) if self.chance(0.2) else handle, newest)
        if self.chance(0.1):
            self.outputs.append(joined)
        if self.chance(0.1):
            self.outputs.append(again)
        return joined

    def weights(self, *shape: int, data_scale: float | None = None) -> list[int]:
        """The weight and the bias of an operator whose output has the scale of the network."""
        count = int(np.prod(shape[1:]))
        spec = self.model.spec
        data_scale = spec.scale if data_scale is None else data_scale
        scale = 0.0075 / float(np.sqrt(count)) * (spec.scale / data_scale)
        return [self._constant(Spec(shape, scale, 0)), self.bias(shape[0], data_scale, scale)]

    def bias(self, outputs: int, data_scale: float, weight_scale: float) -> int:
        """Of the type that goes with the data."""
        data = np.arange(outputs, dtype=BIAS_TYPES[self.model.spec.dtype]) * 97 - 300
        scale = float(np.float32(data_scale) * np.float32(weight_scale))
        return add_input(self.model.main, Constant(data, per_tensor(scale)))

    def _constant(self, spec: Spec) -> int:
        return add_input(self.model.main, random_constant(spec))


def _convolution(net: _Network) -> None:
    size, dilation = net.random.randint(1, 4), net.random.randint(1, 2)
    outputs = net.random.randint(2, 6)
    joined = net.window(net.value, (size - 1) * dilation, net.channels)
    table = options(
        "Conv2DOptions", padding=VALID, stride_h=1, stride_w=1, dilation_h_factor=dilation,
        dilation_w_factor=1, fused_activation_function=net.random.choice([0, 1]),
    )  # fmt: skip
    weights = net.weights(outputs, size, 1, net.channels)
    net.value = net.apply("CONV_2D", [joined, *weights], net.rows, outputs, table)
    net.channels = outputs


def _depthwise(net: _Network, value: int, size: int, channels: int) -> int:
    joined = net.window(value, size - 1, channels)
    table = options(
        "DepthwiseConv2DOptions", padding=VALID, stride_h=1, stride_w=1, depth_multiplier=1,
        dilation_h_factor=1, dilation_w_factor=1,
    )  # fmt: skip
    weight = add_input(net.model.main, random_constant(Spec((1, size, 1, channels), 0.02, 0)))
    inputs = [joined, weight, net.bias(channels, net.model.spec.scale, 0.02)]
    return net.apply("DEPTHWISE_CONV_2D", inputs, net.rows, channels, table)


def _depthwise_convolution(net: _Network) -> None:
    net.value = _depthwise(net, net.value, net.random.randint(1, 5), net.channels)


def _kernels_of_two_sizes(net: _Network) -> None:
    """Channels in two parts, each with its own variable."""
    if net.channels < 2:
        return
    shape = (1, net.rows, 1, net.channels)
    first = net.random.randint(1, net.channels - 1)
    sizes = [first, net.channels - first]
    parts = net.model.split_by(net.value, sizes, 3, *shape)
    made = [
        _depthwise(net, part, net.random.randint(2, 5), size)
        for part, size in zip(parts, sizes, strict=True)
    ]
    net.value = net.model.concat(made, 3, *shape)


def _delayed_sum(net: _Network) -> None:
    """The input of some runs before is added."""
    kept = net.rows * net.random.randint(1, 2)
    joined = net.window(net.value, kept, net.channels)
    shape = (1, net.rows, 1, net.channels)
    first = net.random.randint(0, kept)
    end = [1, first + net.rows, 1, net.channels]
    oldest = net.model.part(joined, [0, first, 0, 0], end, *shape)
    net.value = net.model.add(oldest, net.value, shape)


def _pool(net: _Network) -> None:
    size = net.random.randint(2, 4)
    joined = net.window(net.value, size - 1, net.channels)
    code = net.random.choice(["AVERAGE_POOL_2D", "MAX_POOL_2D"])
    table = options(
        "Pool2DOptions", padding=VALID, stride_h=1, stride_w=1, filter_height=size, filter_width=1
    )
    net.value = net.apply(code, [joined], net.rows, net.channels, table)


def _sum_so_far(net: _Network) -> None:
    """What is assigned is what the next layers read."""
    shape = (1, net.rows, 1, net.channels)
    name = f"v{net.variables}"
    net.variables += 1
    handle = net.model.start(name, *shape, number=net.variables)
    total = net.model.add(net.model.read(handle, *shape), net.value, shape)
    net.model.assign(handle, total)
    net.value = net.model.read(handle, *shape) if net.chance(0.5) else total


def _mean(net: _Network) -> None:
    joined = net.window(net.value, net.random.randint(0, 3), net.channels)
    axes = add_input(net.model.main, int32(1, 2))
    table = options("ReducerOptions", keep_dims=True)
    net.value = net.apply("MEAN", [joined, axes], 1, net.channels, table)
    net.rows = 1


def _gates(net: _Network) -> None:
    """A state that moves towards a new value as far as a gate says."""
    model, spec = net.model, net.model.spec
    units, features = net.random.randint(1, 4), net.rows * net.channels
    kept = TANH[spec.dtype](1, units)
    name = f"v{net.variables}"
    net.variables += 1
    start = random_constant(kept)
    constant = model.once.constant(start.data, kept.quantization)
    assign(model.once, handle(model.once, name), constant)
    variable = model.variable(name)

    def apply(code: str, inputs: list[int], result: Spec, table=None) -> int:
        value = model.main.tensor((1, units), result.dtype, result.quantization)
        model.main.operator(code, inputs, [value], table)
        return value

    before = apply("READ_VARIABLE", [variable], kept, options("ReadVariableOptions"))
    flat = model.reshape(net.value, 1, features)
    table = options("FullyConnectedOptions")

    def gate(code: str, result: Spec) -> int:
        of_data = apply("FULLY_CONNECTED", [flat, *net.weights(units, features)], spec, table)
        of_state = net.weights(units, units, data_scale=kept.scale)
        parts = [of_data, apply("FULLY_CONNECTED", [before, *of_state], spec, table)]
        return apply(code, [apply("ADD", parts, spec, options("AddOptions"))], result)

    share = gate("LOGISTIC", SIGMOID[spec.dtype])
    distance = apply("SUB", [gate("TANH", kept), before], kept, options("SubOptions"))
    step = apply("MUL", [share, distance], kept, options("MulOptions"))
    after = apply("ADD", [before, step], kept, options("AddOptions"))
    model.assign(variable, after)
    weights = net.weights(units, units, data_scale=kept.scale)
    value = apply("FULLY_CONNECTED", [after, *weights], spec, table)
    net.value = model.reshape(value, 1, 1, 1, units)
    net.rows, net.channels = 1, units


LAYERS: list[Callable[[_Network], None]] = [
    _convolution,
    _convolution,
    _depthwise_convolution,
    _kernels_of_two_sizes,
    _delayed_sum,
    _pool,
    _sum_so_far,
    _mean,
    _gates,
]


def random_streaming(seed: int, dtype: str = "int8", most_layers: int = 6) -> bytes:
    """Two layers or more on int8 or int16."""
    random = Random(seed)
    model = Streaming(SPECS[dtype])
    if random.random() < 0.8:
        model.initialize()
        called = True
    else:
        called = False
    rows, channels = random.randint(1, 4), random.randint(1, 5)
    net = _Network(random, model, rows, channels, model.input(1, rows, 1, channels))
    if not called:
        # Before any variable is used.
        model.initialize()
    for _ in range(random.randint(2, most_layers)):
        random.choice(LAYERS)(net)
    for variable, value in net.waiting:
        model.assign(variable, value)
    return model.finish(*dict.fromkeys([net.value, *net.outputs]))
