"""Small files that ask for gigabytes, or for hours: one a name, for all formats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper

import onnx_models
import tflite_builder
from tflite_builder import options, per_tensor

MUCH = 400_000_000
"""Elements; 1.6 GB of float32."""

LONG = 2**30
"""A window, a stride, a number of steps."""

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


def _onnx(build: Callable[[onnx_models.Graph], str], dtype="float32", opset=17) -> bytes:
    graph = onnx_models.Graph()
    return graph.model(build(graph), opset=opset, dtype=dtype)


def onnx_constant_of_shape(g: onnx_models.Graph) -> str:
    much = g.node("ConstantOfShape", g.constant([MUCH], np.int64))
    return g.node("Add", g.input("x", [1]), g.node("ReduceSum", much, keepdims=1))


def onnx_expand(g: onnx_models.Graph) -> str:
    much = g.node("Expand", g.constant([1], np.float32), g.constant([MUCH], np.int64))
    return g.node("Add", g.input("x", [1]), much)


def onnx_tile(g: onnx_models.Graph) -> str:
    much = g.node("Tile", g.constant([1], np.float32), g.constant([MUCH], np.int64))
    return g.node("Add", g.input("x", [1]), much)


def onnx_range(g: onnx_models.Graph) -> str:
    ends = [g.constant(end, np.float32) for end in (0, MUCH, 1)]
    return g.node("Add", g.input("x", [1]), g.node("Range", *ends))


def onnx_activation(g: onnx_models.Graph) -> str:
    return g.node("Relu", g.input("x", [MUCH]))


def onnx_pad(g: onnx_models.Graph) -> str:
    return g.node("Pad", g.input("x", [1]), g.constant([0, MUCH], np.int64))


def onnx_resize(g: onnx_models.Graph) -> str:
    sizes = g.constant([1, 1, 40_000, 40_000], np.int64)
    return g.node("Resize", g.input("x", [1, 1, 2, 2]), "", "", sizes, mode="nearest")


def onnx_pool(g: onnx_models.Graph) -> str:
    x = g.input("x", [1, 1, 4, 4])
    pads = [0, LONG - 1, 0, LONG - 1]
    return g.node("AveragePool", x, kernel_shape=[1, LONG], pads=pads)


def onnx_square_pool(g: onnx_models.Graph) -> str:
    x = g.input("x", [1, 1, 4, 4])
    return g.node("AveragePool", x, kernel_shape=[LONG, LONG], pads=[LONG // 2] * 4)


def onnx_max_pool(g: onnx_models.Graph) -> str:
    x = g.input("x", [1, 1, 4, 4])
    return g.node("MaxPool", x, kernel_shape=[1, LONG], auto_pad="SAME_UPPER")


def onnx_groups(g: onnx_models.Graph) -> str:
    count = 20_000
    x = g.input("x", [1, count, 1, 1])
    ones = g.node("ConstantOfShape", g.constant([count, 1, 1, 1], np.int64))
    return g.node("ConvTranspose", x, ones, group=count)


def onnx_lstm(g: onnx_models.Graph) -> str:
    steps = 1_000_000
    x = g.input("x", [steps, 1, 1])
    w, r = g.weight(1, 4, 1), g.weight(1, 4, 1)
    return g.node("LSTM", x, w, r, hidden_size=1)


def onnx_split(g: onnx_models.Graph) -> str:
    x = g.input("x", [10_000_000])
    parts = g.node("SplitToSequence", x, keepdims=0)
    return g.node("ConcatFromSequence", parts, axis=0, new_axis=1)


def onnx_one_hot(g: onnx_models.Graph) -> str:
    x = g.input("x", [2], "int64")
    return g.node("OneHot", x, g.constant(MUCH, np.int64), g.constant([0, 1], np.float32))


def onnx_product(g: onnx_models.Graph) -> str:
    """Two constants of 64 MB, and 10^11 operations to multiply them."""
    side = g.constant([4096, 4096], np.int64)
    a, b = g.node("ConstantOfShape", side), g.node("ConstantOfShape", side)
    return g.node("Add", g.input("x", [1]), g.node("MatMul", a, b))


def onnx_lie(g: onnx_models.Graph) -> str:
    half = [g.constant([MUCH // 2], np.int64), g.constant([2], np.int64)]
    much = g.node("ConstantOfShape", g.node("Mul", *half))
    return g.node("Add", g.input("x", [1]), g.node("ReduceSum", much, keepdims=1))


def onnx_lying() -> bytes:
    """What the file says about a shape is much less than what it is."""
    model = onnx.ModelProto.FromString(_onnx(onnx_lie))
    name = model.graph.node[1].output[0]
    model.graph.value_info.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]))
    return model.SerializeToString()


def onnx_outer_sum(g: onnx_models.Graph) -> str:
    """Constants that are small on their own."""
    row = g.node("ConstantOfShape", g.constant([1, 20_000], np.int64))
    column = g.node("ConstantOfShape", g.constant([20_000, 1], np.int64))
    total = g.node("ReduceSum", g.node("Add", row, column), keepdims=0)
    return g.node("Add", g.input("x", [1]), total)


def onnx_far_padding(g: onnx_models.Graph) -> str:
    """Little data and little of it is left, but much is between."""
    pooled = g.node(
        "MaxPool",
        g.constant(np.ones((1, 1, 4)), np.float32),
        kernel_shape=[1],
        pads=[LONG, LONG],
        strides=[LONG],
    )
    return g.node("Add", g.input("x", [1]), pooled)


def onnx_doubling() -> bytes:
    """40 functions, each of which calls the one before twice."""
    return _calls(40, lambda depth: [depth - 1, depth - 1])


def onnx_recursion() -> bytes:
    """A function that calls itself."""
    return _calls(1, lambda depth: [1])


def _calls(count: int, called_by: Callable[[int], list[int]]) -> bytes:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]

    def call(number: int, a: str, b: str) -> onnx.NodeProto:
        if number == 0:
            return helper.make_node("Relu", [a], [b])
        return helper.make_node(f"F{number}", [a], [b], domain="mine")

    functions = []
    for number in range(1, count + 1):
        called = called_by(number)
        names = ["a", *(f"t{i}" for i in range(len(called) - 1)), "b"]
        nodes = [call(c, names[i], names[i + 1]) for i, c in enumerate(called)]
        functions.append(helper.make_function("mine", f"F{number}", ["a"], ["b"], nodes, opsets))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy")
    graph = helper.make_graph([call(count, "x", "y")], "graph", [x], [y])
    model = helper.make_model(graph, functions=functions, opset_imports=opsets, ir_version=8)
    return model.SerializeToString()


def onnx_nested() -> bytes:
    """Branches in branches."""
    z = helper.make_tensor_value_info("z", TensorProto.FLOAT, [4])
    condition = helper.make_tensor("c", TensorProto.BOOL, [], [True])
    inner = helper.make_graph([helper.make_node("Relu", ["x"], ["z"])], "inner", [], [z])
    for _ in range(8):
        node = helper.make_node("If", ["c"], ["z"], then_branch=inner, else_branch=inner)
        inner = helper.make_graph([node], "inner", [], [z])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    graph = helper.make_graph(inner.node, "graph", [x], [z], [condition])
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


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
    **{
        f"{name}.onnx": (lambda build=build: _onnx(build))
        for name, build in {
            "constant of shape": onnx_constant_of_shape,
            "expand": onnx_expand,
            "tile": onnx_tile,
            "range": onnx_range,
            "activation": onnx_activation,
            "pad": onnx_pad,
            "resize": onnx_resize,
            "pool": onnx_pool,
            "square pool": onnx_square_pool,
            "max pool": onnx_max_pool,
            "groups": onnx_groups,
            "lstm": onnx_lstm,
            "split": onnx_split,
            "one hot": onnx_one_hot,
            "product": onnx_product,
            "outer sum": onnx_outer_sum,
            "far padding": onnx_far_padding,
        }.items()
    },
    "lie.onnx": onnx_lying,
    "doubling.onnx": onnx_doubling,
    "recursion.onnx": onnx_recursion,
    "nested.onnx": onnx_nested,
}
