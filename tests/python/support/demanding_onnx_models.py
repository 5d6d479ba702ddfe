"""ONNX files that ask for gigabytes, or for hours: one a name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from support import onnx_models
from support.demanding_sizes import LONG, MUCH
from support.lazy import lazy

onnx = lazy("onnx")
TensorProto = lazy("onnx:TensorProto")
helper = lazy("onnx.helper")


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


ONNX_MODELS: dict[str, Callable[[], bytes]] = {
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
