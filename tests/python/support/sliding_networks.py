"""Relax functions of a window of time, of int8: operators over rows."""

from __future__ import annotations

from tvm import relax, te

from usmp.ops import quantized
from usmp.ops.emit import shape_of
from usmp.ops.quantized import Layout, OutputLimits, Quantization, Window

ROWS, CHANNELS = 12, 2
SHAPE = (1, ROWS, 3, CHANNELS)
SCALE = Quantization("int8", (0.5,), (3,))
LIMITS = OutputLimits("int8", -128, 127)
NHWC = Layout("NHWC")


class Network:
    """Operators over time, of int8."""

    def __init__(self, make, **attrs) -> None:
        self.builder = relax.BlockBuilder()
        self.emit = self.builder.emit
        self.x = relax.Var("x", relax.TensorType(SHAPE, "int8"))
        with self.builder.function("main", [self.x], attrs or None):
            with self.builder.dataflow():
                results = [self.builder.emit_output(each) for each in make(self, self.x)]
            self.builder.emit_func_output(relax.Tuple(results) if len(results) > 1 else results[0])
        self.mod = self.builder.get()
        self.main = self.mod["main"]

    def taps(self, data, dilation: int = 1, stride: int = 1):
        """A valid convolution of three rows."""
        shape = list(shape_of(data))
        shape[1] = (shape[1] - 2 * dilation - 1) // stride + 1

        def taps(x):
            def element(n, t, *rest):
                first, second, third = (x(n, t * stride + k * dilation, *rest) for k in range(3))
                return (first - second - second + third).astype("int8")

            return te.compute(shape, element, "taps")

        return self.builder.emit_te(taps, data, primfunc_name_hint="taps")

    def pool(self, data, kernel: int, stride: int, before: int, after: int, of=quantized.max_pool):
        _, rows, width, _ = shape_of(data)
        made = (rows + before + after - kernel) // stride + 1
        window = Window((rows, width), (kernel, 1), (stride, 1), (1, 1), (before, 0), (made, width))
        return self.emit(of(self.builder, data, window, LIMITS, NHWC, SCALE))

    def rows(self, data, begin: int, end: int, stride: int = 1, axis: int = 1):
        return self.emit(relax.op.strided_slice(data, [axis], [begin], [end], [stride]))

    def greatest(self, data):
        return self.emit(quantized.reduce_max(self.builder, data, [1], SCALE))
