"""Random networks of integer operators in which many channels are constant, or read by nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from usmp.ops import quantized
from usmp.ops.emit import shape_of
from usmp.ops.quantized import Layout, OutputLimits, Quantization, Rescale, Rounding, Window
from usmp.ops.quantized.activation.table import tabulated
from usmp.ops.quantized.rescaling.parameters import integer_limits
from usmp.ops.records.elementwise import Table

Tensor = tuple[relax.Var, Quantization]


@dataclass(frozen=True)
class Style:
    """What the operators of a network have in common.

    Parameters
    ----------
    dtype
        of the tensors.
    layout
        "NHWC" or "NCHW".
    image
        height and width; random ones of 3 to 6 by default.
    dilations
        of windows, one of them by chance.
    """

    dtype: str = "int8"
    layout: str = "NHWC"
    image: tuple[int, int] | None = None
    dilations: tuple[tuple[int, int], ...] = ((1, 1), (1, 1), (2, 1))


def random_network(seed: int, style: Style | None = None) -> IRModule:
    """A Relax module whose `main` gives what a random network makes of an image `x`."""
    return Network(seed, style).build()


class Network:
    def __init__(self, seed: int, style: Style | None) -> None:
        self.random = Random(seed)
        self.style = style or Style(
            self.random.choice(["int8", "int8", "uint8", "int16"]),
            self.random.choice(["NHWC", "NHWC", "NCHW"]),
        )
        self.layout = Layout(self.style.layout)
        self.values = np.random.default_rng(seed)
        self.builder = relax.BlockBuilder()

    def build(self) -> IRModule:
        image = self.style.image or (self.random.randint(3, 6), self.random.randint(3, 6))
        extents = (1, *image, 3)
        shape = self.layout.order(*extents)
        x = relax.Var("x", relax.TensorType(shape, self.style.dtype))
        with self.builder.function("main", [x]):
            with self.builder.dataflow():
                tensor = self._convolved((x, self._quantization()))
                for _ in range(self.random.randint(1, 5)):
                    tensor = self._layer(tensor)
                result = self.builder.emit_output(self._end(tensor))
            self.builder.emit_func_output(result)
        return self.builder.get()

    def _layer(self, tensor: Tensor) -> Tensor:
        layers: list[Callable[[Tensor], Tensor]] = [
            self._convolved,
            self._convolved,
            self._depthwise,
            self._depthwise,
            self._residual,
            self._joined,
            self._pooled,
            self._elementwise,
            self._moved,
        ]
        return self.random.choice(layers)(tensor)

    def _end(self, tensor: Tensor) -> relax.Expr:
        """All elements as they are, or a product of their means, or of all of them."""
        data, before = tensor
        kind = self.random.choice(["image", "image", "means", "dense"])
        if kind == "image":
            return data
        batch, height, width, channels = self.layout.named(shape_of(data))
        if kind == "means":
            axes = [self.style.layout.index(axis) for axis in "HW"]
            after = self._quantization()
            data = self._emit(quantized.mean(self.builder, data, axes, before, after))
            before, depth = after, channels
        else:
            depth = height * width * channels
            data = self._emit(relax.op.reshape(data, [batch, depth]))
        weight, bias, rescale = self._weights(4, (depth,), before)
        stored = self._stored()
        return quantized.fully_connected(self.builder, data, weight, bias, before, stored, rescale)

    def _convolved(self, tensor: Tensor) -> Tensor:
        data, before = tensor
        _, height, width, channels = self.layout.named(shape_of(data))
        window = self._window((height, width))
        outputs = self.random.choice([4, 6, 8])
        depth = channels // 2 if channels % 2 == 0 and self.random.random() < 0.15 else channels
        weight, bias, rescale = self._weights(outputs, (*window.kernel, depth), before)
        parts = (window, before, rescale, self.layout, self._stored())
        result = quantized.conv2d(self.builder, data, weight, bias, *parts)
        return self._emit(result), rescale.output

    def _depthwise(self, tensor: Tensor) -> Tensor:
        data, before = tensor
        _, height, width, channels = self.layout.named(shape_of(data))
        window = self._window((height, width))
        outputs = channels * self.random.choice([1, 1, 2])
        weight, bias, rescale = self._weights(outputs, window.kernel, before)
        ordered = np.ascontiguousarray(weight.transpose(1, 2, 0))
        parts = (window, before, rescale, self.layout, self._stored())
        result = quantized.depthwise_conv2d(self.builder, data, ordered, bias, *parts)
        return self._emit(result), rescale.output

    def _residual(self, tensor: Tensor) -> Tensor:
        data, before = tensor
        other, of_other = self._same_shape(tensor)
        after = self._quantization()
        kind = self.random.choice([quantized.add, quantized.subtract])
        limits = self._limits(after)
        result = kind(self.builder, data, other, (before, of_other, after), limits)
        return self._emit(result), after

    def _same_shape(self, tensor: Tensor) -> Tensor:
        data, before = tensor
        _, height, width, channels = self.layout.named(shape_of(data))
        window = Window((height, width), (3, 3), (1, 1), (1, 1), (1, 1), (height, width))
        weight, bias, rescale = self._weights(channels, (3, 3, channels), before)
        parts = (window, before, rescale, self.layout, self._stored())
        return self._emit(
            quantized.conv2d(self.builder, data, weight, bias, *parts)
        ), rescale.output

    def _joined(self, tensor: Tensor) -> Tensor:
        data, before = tensor
        other, of_other = self._same_shape(tensor)
        if self.style.dtype != "int16":
            other = self._emit(quantized.rescale_to_join(self.builder, other, of_other, before))
        axis = self.style.layout.index(self.random.choice("CCH"))
        return self._emit(relax.op.concat([data, other], axis)), before

    def _pooled(self, tensor: Tensor) -> Tensor:
        data, before = tensor
        _, height, width, _ = self.layout.named(shape_of(data))
        window = self._window((height, width), dilations=(1, 1))
        kind = self.random.choice(["max", "mean", "rescaled", "padded"])
        if kind == "max":
            limits = self._limits(before)
            args = (self.builder, data, window, limits, self.layout, before)
            return self._emit(quantized.max_pool(*args)), before
        if kind == "mean":
            limits = self._limits(before)
            args = (self.builder, data, window, limits, self.layout, before)
            return self._emit(quantized.average_pool(*args)), before
        after = self._quantization()
        ends = (before, after, self._limits(after), self.layout, kind == "padded")
        return self._emit(quantized.rescaled_average_pool(self.builder, data, window, *ends)), after

    def _elementwise(self, tensor: Tensor) -> Tensor:
        data, before = tensor
        kinds = ["clamp", "relu", "requantize", "leaky", "maximum", "multiply"]
        kind = self.random.choice(kinds + ["table"] * (self.style.dtype != "int16"))
        after, builder = self._quantization(), self.builder
        if kind == "clamp":
            return self._emit(quantized.clamp(builder, data, self._limits(before), before)), before
        if kind == "relu":
            limits = self._limits(after)
            return self._emit(quantized.relu(builder, data, before, after, limits)), after
        if kind == "requantize":
            return self._emit(quantized.requantize(builder, data, before, after)), after
        if kind == "leaky":
            alpha = self.random.choice([0.1, -0.3])
            return self._emit(quantized.leaky_relu(builder, data, before, after, alpha)), after
        if kind == "table":
            least, _ = integer_limits(self.style.dtype)
            results = self.values.integers(*self._span(), 256)
            record = Table((before,), (after,))
            result = tabulated(builder, record, data, lambda value: int(results[value - least]))
            return self._emit(result), after
        constant = self._constant(shape_of(data))
        if kind == "maximum":
            return self._emit(quantized.maximum(builder, data, constant, before)), before
        quantizations = (before, before, after)
        limits = self._limits(after)
        result = quantized.multiply_elements(builder, data, constant, quantizations, limits)
        return self._emit(result), after

    def _constant(self, shape: tuple[int, ...]) -> np.ndarray:
        """Of one element a channel, or one for all."""
        channels = [
            extent if axis == "C" else 1
            for axis, extent in zip(self.style.layout, shape, strict=True)
        ]
        chosen = self.random.choice([channels, [1], [1, 1, 1, 1]])
        return self.values.integers(*self._span(), chosen).astype(self.style.dtype)

    def _moved(self, tensor: Tensor) -> Tensor:
        data, before = tensor
        shape = shape_of(data)
        rows, channel = (self.style.layout.index(axis) for axis in "HC")
        kind = self.random.choice(["pad", "rows", "channels", "views"])
        if kind == "pad":
            widths = [0] * 8
            widths[2 * rows] = 1
            value = self.random.choice([before.zero_point, 3])
            data = relax.op.nn.pad(data, widths, "constant", value)
        elif kind == "rows":
            data = relax.op.strided_slice(data, [rows], [0], [shape[rows]], [2])
        elif kind == "channels" and shape[channel] > 2:
            data = relax.op.strided_slice(data, [channel], [1], [shape[channel]])
        else:
            order = [3, 0, 2, 1]
            data = self._emit(relax.op.permute_dims(data, order))
            data = self._emit(relax.op.expand_dims(data, 2))
            data = self._emit(relax.op.squeeze(data, [2]))
            data = relax.op.permute_dims(data, [order.index(axis) for axis in range(4)])
        return self._emit(data), before

    def _window(self, data: tuple[int, int], dilations: tuple[int, int] | None = None) -> Window:
        kernel = tuple(self.random.choice([k for k in (1, 2, 3) if k <= e]) for e in data)
        strides = self.random.choice([(1, 1), (1, 1), (2, 2), (1, 2)])
        spread = dilations or self.random.choice(self.style.dilations)
        padding = tuple(self.random.choice([0, (k - 1) // 2, k - 1]) for k in kernel)
        output = []
        for extent, k, stride, dilation, before in zip(
            data, kernel, strides, spread, padding, strict=True
        ):
            after = self.random.choice([0, before])
            reach = (k - 1) * dilation + 1
            output.append(max((extent + before + after - reach) // stride + 1, 1))
        return Window(data, kernel, strides, spread, padding, (output[0], output[1]))

    def _weights(
        self, outputs: int, taps: tuple[int, ...], before: Quantization
    ) -> tuple[np.ndarray, np.ndarray, Rescale]:
        """A weight, (outputs, taps), most of it zero, and biases beyond what it can make up for."""
        shape = (outputs, *taps)
        zero_point = self._weight_zero_point()
        weight = self.values.integers(-127, 127, shape)
        chosen = self.random.choice(["some", "inputs", "outputs"])
        if chosen == "some":
            weight[self.values.random(shape) < 0.6] = 0
        elif chosen == "inputs":
            weight[..., self.values.random(taps[-1]) < 0.4] = 0
        else:
            weight[self.values.random(outputs) < 0.4] = 0
        least, greatest = integer_limits(self.style.dtype)
        rows = np.abs(weight).reshape(outputs, -1)
        # What a sum may be at most, and about as much as it mostly is.
        most = int(rows.sum(axis=1).max()) * (greatest - least) + 1
        usual = math.sqrt((rows**2).sum(axis=1).max()) * (greatest - least) / 4 + 1
        bias = self.values.integers(-int(usual) - 1, int(usual) + 2, outputs)
        far = self.values.random(outputs)
        bias = np.where(far < 0.15, -most, np.where(far > 0.95, most, bias))
        after = self._quantization()
        factors = [
            quantized.quantize_multiplier(min(greatest / usual * self.random.uniform(0.5, 2), 100))
            for _ in range(self.random.choice([1, outputs]))
        ]
        rounding = Rounding.TWICE
        if self.style.dtype == "int16":
            rounding = Rounding.ONCE_16_BITS
        elif self.random.random() < 0.2:
            rounding = Rounding.ONCE
        bias = bias.astype(rounding.accumulator)
        stored = np.clip(weight + zero_point, *integer_limits(self._weight_type()))
        rescale = Rescale(tuple(factors), after, self._limits(after), rounding)
        return stored.astype(self._weight_type()), bias, rescale

    def _weight_type(self) -> str:
        return "uint8" if self.style.dtype == "uint8" else "int8"

    def _weight_zero_point(self) -> int:
        return 128 if self.style.dtype == "uint8" else 0

    def _stored(self) -> Quantization:
        return Quantization(self._weight_type(), (0.01,), (self._weight_zero_point(),))

    def _quantization(self) -> Quantization:
        least, greatest = integer_limits(self.style.dtype)
        zero_point = self.random.choice([least, least + 5, (least + greatest) // 2])
        scale = self.random.choice([0.01, 0.02, 0.05])
        return Quantization(
            self.style.dtype, (scale,), (0 if self.style.dtype == "int16" else zero_point,)
        )

    def _limits(self, after: Quantization) -> OutputLimits:
        least, greatest = integer_limits(self.style.dtype)
        limits = [(least, greatest), (after.zero_point, greatest), (least, greatest - 40)]
        return OutputLimits(self.style.dtype, *self.random.choice(limits))

    def _span(self) -> tuple[int, int]:
        least, greatest = integer_limits(self.style.dtype)
        return least, greatest + 1

    def _emit(self, expr: relax.Expr) -> relax.Var:
        return self.builder.emit(expr)
