"""Random networks of integer operators over a window of time, and the window that slides."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from tvm import relax
from tvm.ir import IRModule

import usmp
from support.channel_networks import Network, Style, Tensor
from support.relax_vm import integer_function
from usmp.ops import quantized
from usmp.ops.emit import shape_of
from usmp.ops.quantized import Quantization, Window


def random_time_network(seed: int) -> IRModule:
    """A Relax module whose `main` gives what a random network makes of a window `x` of time, of
    int8: (1, rows, 1 to 3, 3)."""
    return _TimeNetwork(seed).build()


class _TimeNetwork(Network):
    def __init__(self, seed: int) -> None:
        super().__init__(seed, Style("int8", "NHWC"))

    def build(self) -> IRModule:
        rows, width = self.random.randint(9, 24), self.random.randint(1, 3)
        before = self._quantization()
        x = relax.Var("x", relax.TensorType((1, rows, width, 3), "int8"))
        with self.builder.function("main", [x]):
            with self.builder.dataflow():
                tensor: Tensor = (x, before)
                for _ in range(self.random.randint(2, 6)):
                    if self.random.random() < 0.3:
                        tensor = self._shifted_residual(tensor)
                    tensor = self._layer(tensor)
                result = self.builder.emit_output(self._end(tensor))
            self.builder.emit_func_output(result)
        mod = self.builder.get()
        stated = {"x": [float(before.scale), int(before.zero_point)]}
        main = mod["main"].with_attr("input_quantization", stated)
        mod.update_func(mod.get_global_var("main"), main)
        return mod

    def _shifted_residual(self, tensor: Tensor) -> Tensor:
        """A valid convolution over time, and the rows in the middle of its windows."""
        data, before = tensor
        _, height, width, channels = shape_of(data)
        if height < 4:
            return tensor
        window = Window((height, width), (3, 1), (1, 1), (1, 1), (0, 0), (height - 2, width))
        weight, bias, rescale = self._weights(channels, (3, 1, channels), before)
        parts = (window, before, rescale, self.layout, self._stored())
        made = self._emit(quantized.conv2d(self.builder, data, weight, bias, *parts))
        middle = self._emit(relax.op.strided_slice(data, [1], [1], [height - 1]))
        after = self._quantization()
        three = (rescale.output, before, after)
        summed = quantized.add(self.builder, made, middle, three, self._limits(after))
        return self._emit(summed), after

    def _window(self, data: tuple[int, int], dilations: tuple[int, int] | None = None) -> Window:
        window = super()._window(data, dilations)
        if self.random.random() < 0.35:
            return window
        reach = (window.kernel[0] - 1) * window.dilations[0] + 1
        if reach > data[0]:
            return window
        rows = (data[0] - reach) // window.strides[0] + 1
        return Window(
            data,
            window.kernel,
            window.strides,
            window.dilations,
            (0, window.padding[1]),
            (rows, window.output[1]),
        )

    def _end(self, tensor: Tensor) -> relax.Expr:
        if self.random.random() < 0.5:
            return super()._end(tensor)
        data, before = tensor
        _, height, width, channels = shape_of(data)
        weight, bias, rescale = self._weights(5, (height, width, channels), before)
        window = Window((height, width), (height, width), (1, 1), (1, 1), (0, 0), (1, 1))
        parts = (window, before, rescale, self.layout, self._stored())
        return quantized.conv2d(self.builder, data, weight, bias, *parts)

    def _quantization(self) -> Quantization:
        return super()._quantization()


def windows(
    mod: IRModule, hop: int, runs: int, seed: int = 0
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The new rows of each run, and the whole window, which at first is full of the zero point."""
    main = mod["main"]
    (param,) = main.params
    name, (first, rows, *rest) = str(param.name), shape_of(param)
    _, zero_point = (main.attrs or {}).get("input_quantization", {}).get(name, (1.0, 0))
    window = np.full((first, rows, *rest), int(zero_point), str(param.ty.dtype))
    random = np.random.default_rng(seed)
    for _ in range(runs):
        new = random.integers(-128, 128, (first, hop, *rest)).astype(window.dtype)
        window = np.concatenate([window, new], axis=1)[:, -rows:]
        yield new, window


def window_rows(mod: IRModule) -> int:
    """The rows of the window."""
    (param,) = mod["main"].params
    return shape_of(param)[1]


def assert_slides(sliding: usmp.runtime.HostModule, mod: IRModule, hop: int, runs: int) -> None:
    """The module computes from new rows, run by run, what `mod` does from the whole window."""
    whole = integer_function(mod)
    (name,), (output,) = mod["main"].params, sliding.outputs
    for new, window in windows(mod, hop, runs):
        (expected,) = whole({str(name.name): window})
        actual = sliding.run({str(name.name): new})[output]
        assert actual.tobytes() == expected.tobytes()
