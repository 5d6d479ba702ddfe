"""Graphs that grow by one operator at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

from support.tflite_builder import Graph, Options, options, write_model

from .model import (
    ACTIVATIONS,
    PADDINGS,
    Constant,
    Spec,
    add_input,
    add_tensor,
    generator_of,
    int32,
)
from .weights import Weights, weights_and_bias
from .windows import Window


@dataclass
class Chain:
    """A graph, and what is known of its values, which are indices of tensors."""

    graph: Graph = field(default_factory=Graph)
    specs: dict[int, Spec] = field(default_factory=dict)

    def input(self, spec: Spec) -> int:
        index = add_input(self.graph, spec)
        self.specs[index] = spec
        return index

    def apply(
        self,
        code: str,
        inputs: list[int | Constant | None],
        y: Spec,
        table: Options | None = None,
    ) -> int:
        """Append an operator; its result."""
        arguments = [v if isinstance(v, int) else add_input(self.graph, v) for v in inputs]
        index = add_tensor(self.graph, y)
        self.specs[index] = y
        self.graph.operator(code, arguments, [index], table)
        return index

    def conv(
        self,
        x: int,
        channels: int,
        window: Window,
        scale: float = 0.06,
        zero_point: int = 3,
        activation: str = "NONE",
        code: str = "CONV_2D",
    ) -> int:
        """A convolution; depthwise, `channels` is the multiplier."""
        spec = self.specs[x]
        batch, height, width, depth = spec.shape
        depthwise = code == "DEPTHWISE_CONV_2D"
        taps = window.kernel[0] * window.kernel[1] * (1 if depthwise else depth)
        if depthwise:
            shape, axis = (1, *window.kernel, depth * channels), 3
        else:
            shape, axis = (channels, *window.kernel, depth), 0
        y = Spec((batch, *window.output(height, width), shape[axis]), scale, zero_point)
        generator = generator_of((len(self.graph.tensors), shape))
        constants = weights_and_bias(generator, Weights(), shape, axis, taps, spec, y)
        extra = {"depth_multiplier": channels} if depthwise else {}
        table = options(
            "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions",
            padding=PADDINGS[window.padding],
            stride_h=window.stride[0],
            stride_w=window.stride[1],
            dilation_h_factor=window.dilation[0],
            dilation_w_factor=window.dilation[1],
            fused_activation_function=ACTIVATIONS[activation],
            **extra,
        )
        return self.apply(code, [x, *constants], y, table)

    def add(self, a: int, b: int, y: Spec, activation: str = "NONE") -> int:
        table = options("AddOptions", fused_activation_function=ACTIVATIONS[activation])
        return self.apply("ADD", [a, b], y, table)

    def pad(self, x: int, *amounts: tuple[int, int]) -> int:
        return self.pad_all(x, (0, 0), *amounts, (0, 0))

    def pad_all(self, x: int, *pairs: tuple[int, int]) -> int:
        spec = self.specs[x]
        y = spec(*(extent + sum(pair) for extent, pair in zip(spec.shape, pairs, strict=True)))
        flat = int32(*(number for pair in pairs for number in pair))
        return self.apply("PAD", [x, Constant(flat.data.reshape(-1, 2))], y)

    def reshape(self, x: int, *shape: int) -> int:
        return self.apply("RESHAPE", [x, int32(*shape)], self.specs[x](*shape))

    def fully_connected(self, x: int, channels: int, scale: float = 0.08) -> int:
        spec = self.specs[x]
        depth = spec.shape[-1]
        y = Spec((spec.shape[0], channels), scale, 3)
        how = Weights(per_channel=False)
        generator = generator_of((len(self.graph.tensors), depth))
        constants = weights_and_bias(generator, how, (channels, depth), 0, depth, spec, y)
        return self.apply("FULLY_CONNECTED", [x, *constants], y, options("FullyConnectedOptions"))

    def softmax(self, x: int) -> int:
        y = Spec(self.specs[x].shape, 1 / 256, -128)
        return self.apply("SOFTMAX", [x], y, options("SoftmaxOptions", beta=1.0))

    def pool(self, code: str, x: int, window: Window) -> int:
        spec = self.specs[x]
        batch, height, width, channels = spec.shape
        table = options(
            "Pool2DOptions",
            padding=PADDINGS[window.padding],
            stride_h=window.stride[0],
            stride_w=window.stride[1],
            filter_height=window.kernel[0],
            filter_width=window.kernel[1],
        )
        return self.apply(code, [x], spec(batch, *window.output(height, width), channels), table)

    def finish(self, *outputs: int) -> bytes:
        self.graph.output(*outputs)
        return write_model(self.graph)
