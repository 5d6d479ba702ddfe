"""Small files that ask for gigabytes, or for hours: one a name, for all formats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from support import tflite_builder
from support.demanding_onnx_models import ONNX_MODELS
from support.demanding_sizes import LONG, MUCH
from support.tflite_builder import options, per_tensor

Q = per_tensor(0.1, 3)


def _tflite(build: Callable[[tflite_builder.Graph], int]) -> bytes:
    graph = tflite_builder.Graph()
    graph.output(build(graph))
    return tflite_builder.write_model(graph)


def tflite_broadcast_constant(g: tflite_builder.Graph) -> int:
    x, y = g.input((MUCH,), "float32"), g.tensor((MUCH,), "float32")
    much = g.tensor((MUCH,), "float32")
    one = g.constant(np.ones(1, np.float32))
    g.operator("BROADCAST_TO", [one, g.constant(np.array([MUCH], np.int32))], [much])
    g.operator("ADD", [x, much], [y], options("AddOptions"))
    return y


def tflite_broadcast_summed(g: tflite_builder.Graph) -> int:
    """Only what is between is large."""
    x, y = g.input((4,), "float32"), g.tensor((4,), "float32")
    much, total = g.tensor((MUCH,), "float32"), g.tensor((1,), "float32")
    one = g.constant(np.ones(1, np.float32))
    g.operator("BROADCAST_TO", [one, g.constant(np.array([MUCH], np.int32))], [much])
    axis = g.constant(np.array([0], np.int32))
    g.operator("SUM", [much, axis], [total], options("ReducerOptions", keep_dims=True))
    g.operator("ADD", [x, total], [y], options("AddOptions"))
    return y


def tflite_fill(g: tflite_builder.Graph) -> int:
    x, y = g.input((MUCH,), "int8", Q), g.tensor((MUCH,), "int8", Q)
    much = g.tensor((MUCH,), "int8", Q)
    shape = g.constant(np.array([MUCH], np.int32))
    g.operator("FILL", [shape, g.constant(np.array(1, np.int8), Q)], [much])
    g.operator("ADD", [x, much], [y], options("AddOptions"))
    return y


def tflite_zeros_like(g: tflite_builder.Graph) -> int:
    x, y = g.input((MUCH,), "float32"), g.tensor((MUCH,), "float32")
    g.operator("ZEROS_LIKE", [x], [y])
    return y


def tflite_activation(g: tflite_builder.Graph) -> int:
    x, y = g.input((MUCH,), "float32"), g.tensor((MUCH,), "float32")
    g.operator("RELU", [x], [y])
    return y


def tflite_many_fills(g: tflite_builder.Graph) -> int:
    """None is large, all together are."""
    y = g.input((2**24,), "float32")
    shape = g.constant(np.array([2**24], np.int32))
    for number in range(100):
        much, total = g.tensor((2**24,), "float32"), g.tensor((2**24,), "float32")
        g.operator("FILL", [shape, g.constant(np.array(number, np.float32))], [much])
        g.operator("ADD", [y, much], [total], options("AddOptions"))
        y = total
    return y


def _pool(dtype: str, kind: str) -> Callable[[tflite_builder.Graph], int]:
    def build(g: tflite_builder.Graph) -> int:
        q = Q if dtype == "int8" else None
        x, y = g.input((1, 4, 4, 1), dtype, q), g.tensor((1, 4, 4, 1), dtype, q)
        fields = {"filter_width": LONG, "filter_height": 1, "stride_w": 1, "stride_h": 1}
        window = options("Pool2DOptions", **fields)
        g.operator(kind, [x], [y], window)
        return y

    return build


def tflite_stride(g: tflite_builder.Graph) -> int:
    x, y = g.input((1, 8, 8, 1), "int8", Q), g.tensor((1, 1, 1, 1), "int8", Q)
    w = g.constant(np.ones((1, 3, 3, 1), np.int8), per_tensor(0.1))
    b = g.constant(np.ones(1, np.int32), per_tensor(0.01))
    o = options("Conv2DOptions", stride_w=2**31 - 1, stride_h=2**31 - 1, padding=1)
    g.operator("CONV_2D", [x, w, b], [y], o)
    return y


def tflite_dilation(g: tflite_builder.Graph) -> int:
    x, y = g.input((1, 8, 8, 1), "int8", Q), g.tensor((1, 8, 8, 1), "int8", Q)
    w = g.constant(np.ones((1, 3, 3, 1), np.int8), per_tensor(0.1))
    b = g.constant(np.ones(1, np.int32), per_tensor(0.01))
    o = options(
        "Conv2DOptions",
        stride_w=1,
        stride_h=1,
        dilation_w_factor=2**31 - 1,
        dilation_h_factor=2**31 - 1,
    )
    g.operator("CONV_2D", [x, w, b], [y], o)
    return y


def tflite_transposed_stride(g: tflite_builder.Graph) -> int:
    side = 2**14
    x, y = g.input((1, 2, 2, 1), "int8", Q), g.tensor((1, 2 * side, 2 * side, 1), "int8", Q)
    w = g.constant(np.ones((1, 3, 3, 1), np.int8), per_tensor(0.1))
    shape = g.constant(np.array([1, 2 * side, 2 * side, 1], np.int32))
    o = options("TransposeConvOptions", stride_w=side, stride_h=side)
    g.operator("TRANSPOSE_CONV", [shape, w, x], [y], o)
    return y


def tflite_pad(g: tflite_builder.Graph) -> int:
    side = 2**30
    x, y = g.input((1, 8), "int8", Q), g.tensor((1, 8 + side), "int8", Q)
    g.operator("PAD", [x, g.constant(np.array([[0, 0], [0, side]], np.int32))], [y])
    return y


def tflite_resize(g: tflite_builder.Graph) -> int:
    side = 40_000
    x, y = g.input((1, 2, 2, 1), "int8", Q), g.tensor((1, side, side, 1), "int8", Q)
    size = g.constant(np.array([side, side], np.int32))
    g.operator("RESIZE_BILINEAR", [x, size], [y], options("ResizeBilinearOptions"))
    return y


def tflite_range(g: tflite_builder.Graph) -> int:
    x, y = g.input((MUCH,), "int32"), g.tensor((MUCH,), "int32")
    much = g.tensor((MUCH,), "int32")
    ends = [g.constant(np.array(end, np.int32)) for end in (0, MUCH, 1)]
    g.operator("RANGE", ends, [much])
    g.operator("ADD", [x, much], [y], options("AddOptions"))
    return y


def tflite_one_hot(g: tflite_builder.Graph) -> int:
    x, y = g.input((2,), "int32"), g.tensor((2, MUCH), "float32")
    depth = g.constant(np.array(MUCH, np.int32))
    on, off = (g.constant(np.array(value, np.float32)) for value in (1, 0))
    g.operator("ONE_HOT", [x, depth, on, off], [y], options("OneHotOptions", axis=-1))
    return y


def tflite_tile(g: tflite_builder.Graph) -> int:
    x, y = g.input((4,), "float32"), g.tensor((MUCH,), "float32")
    g.operator("TILE", [x, g.constant(np.array([MUCH // 4], np.int32))], [y])
    return y


def tflite_cumulative_sum(g: tflite_builder.Graph) -> int:
    x, y = g.input((50_000_000,), "float32"), g.tensor((50_000_000,), "float32")
    axis = g.constant(np.array(0, np.int32))
    g.operator("CUMSUM", [x, axis], [y], options("CumsumOptions"))
    return y


def tflite_wide_resize(g: tflite_builder.Graph) -> int:
    """Within the limits, if little is kept for an element."""
    x, y = g.input((1, 1, 3, 1), "int8", Q), g.tensor((1, 1, 2**25, 1), "int8", Q)
    size = g.constant(np.array([1, 2**25], np.int32))
    g.operator("RESIZE_NEAREST_NEIGHBOR", [x, size], [y], options("ResizeNearestNeighborOptions"))
    return y


def tflite_steps(g: tflite_builder.Graph) -> int:
    steps = 1_000_000
    x, y = g.input((1, steps, 1), "float32"), g.tensor((1, steps, 1), "float32")
    weights = [g.constant(np.ones(shape, np.float32)) for shape in ((1, 1), (1, 1), (1,))]
    state = g.tensor((1, 1), "float32", is_variable=True)
    o = options("SequenceRNNOptions", fused_activation_function=4)
    g.operator("UNIDIRECTIONAL_SEQUENCE_RNN", [x, *weights, state], [y], o)
    return y


def tflite_large_average(g: tflite_builder.Graph) -> int:
    """Each element of the output is the mean of another number of elements."""
    x, y = g.input((1, 8000, 8000, 1), "int8", Q), g.tensor((1, 8000, 8000, 1), "int8", Q)
    fields = {"filter_width": 15_999, "filter_height": 15_999, "stride_w": 1, "stride_h": 1}
    g.operator("AVERAGE_POOL_2D", [x], [y], options("Pool2DOptions", **fields))
    return y


MODELS: dict[str, Callable[[], bytes]] = {
    **{
        f"{name}.tflite": (lambda build=build: _tflite(build))
        for name, build in {
            "broadcast constant": tflite_broadcast_constant,
            "broadcast summed": tflite_broadcast_summed,
            "fill": tflite_fill,
            "zeros like": tflite_zeros_like,
            "activation": tflite_activation,
            "many fills": tflite_many_fills,
            "maximum pool": _pool("int8", "MAX_POOL_2D"),
            "average pool": _pool("int8", "AVERAGE_POOL_2D"),
            "float pool": _pool("float32", "AVERAGE_POOL_2D"),
            "stride": tflite_stride,
            "dilation": tflite_dilation,
            "transposed stride": tflite_transposed_stride,
            "pad": tflite_pad,
            "resize": tflite_resize,
            "range": tflite_range,
            "one hot": tflite_one_hot,
            "tile": tflite_tile,
            "cumulative sum": tflite_cumulative_sum,
            "wide resize": tflite_wide_resize,
            "large average": tflite_large_average,
            "steps": tflite_steps,
        }.items()
    },
    **ONNX_MODELS,
}
