"""ONNX operators on shapes that depend on a size which only the run knows."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

import usmp
from support.lazy import lazy
from support.onnx_models import Graph, Reference
from support.relax_vm import TARGET
from usmp.frontend.dynamic_sizes import AskedSizes
from usmp.relax.symbolic_operators import with_possible_sizes
from usmp.relax.symbolic_sizes import shown_shape, symbolic_sizes_of

onnx = lazy("onnx")
TensorProto = lazy("onnx:TensorProto")
import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

LARGEST = 12


def imported(content: bytes, max_sizes=None) -> tvm.IRModule:
    asked = AskedSizes({"n": LARGEST} if max_sizes is None else max_sizes)
    mod = import_onnx(content, None, asked=asked)
    main = with_possible_sizes(mod["main"])
    mod.update_func(mod.get_global_var("main"), main)
    return mod


def message_of(content: bytes, max_sizes=None) -> str:
    with pytest.raises((usmp.UnsupportedModelError, ValueError)) as error:
        imported(content, max_sizes)
    return str(error.value)


def shape_of_result(mod: tvm.IRModule) -> str:
    return shown_shape(mod["main"].body.body.ty.shape)


def check_results(
    content: bytes, make_inputs, sizes=(1, 2, 7, LARGEST), max_sizes=None
) -> tvm.IRModule:
    """Compare with onnxruntime."""
    mod, reference = imported(content, max_sizes), Reference(content)
    machine = relax.VirtualMachine(tvm.compile(mod, TARGET), tvm.cpu())
    for size in sizes:
        inputs = make_inputs(size)
        results = machine["main"](*map(tvm.runtime.tensor, inputs.values()))
        results = [results] if isinstance(results, tvm.runtime.Tensor) else list(results)
        for result, expected in zip(results, reference.run(inputs).values(), strict=True):
            assert result.numpy().shape == expected.shape
            np.testing.assert_allclose(result.numpy(), expected, atol=1e-5)
    return mod


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


class Chain(Graph):
    """A graph of one input x of shape [1, n, 6], and what exporters write of shapes."""

    def __init__(self, shape=(1, "n", 6)) -> None:
        super().__init__()
        self.x = self.input("x", list(shape))

    def extent(self, tensor: str, axis: int) -> str:
        """An extent of a tensor, of one element."""
        shape = self.node("Shape", tensor)
        return self.node("Gather", shape, self.constant([axis], np.int64))

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values), np.int64)


# ---- what exporters compute of shapes


def arithmetic(graph: Chain) -> None:
    """n * 6 // 3 rows, of a shape that is computed by every operator that is known."""
    n = graph.extent(graph.x, 1)
    n = graph.node("Identity", graph.node("Cast", n, to=TensorProto.INT64))
    more = graph.node("Add", n, graph.ints(2))
    n = graph.node("Sub", more, graph.ints(2))
    rows = graph.node("Div", graph.node("Mul", n, graph.ints(6)), graph.ints(3))
    remainder = graph.node("Mod", graph.node("Mul", n, graph.ints(2)), graph.ints(2))
    rows = graph.node("Add", rows, remainder)
    rows = graph.node("Max", graph.node("Min", rows, graph.ints(1000)), graph.ints(1))
    is_all = graph.node("Equal", rows, graph.ints(-1))
    rows = graph.node("Where", is_all, graph.ints(1), rows)
    scalar = graph.node("Squeeze", rows, graph.ints(0))
    rows = graph.node("Unsqueeze", graph.node("Reshape", scalar, graph.ints(1)), graph.ints(0))
    rows = graph.node("Squeeze", rows, graph.ints(0))
    shape = graph.node("Concat", rows, graph.ints(3), axis=0)
    shape = graph.node("Slice", shape, graph.ints(0), graph.ints(2))
    graph.node("Reshape", graph.x, shape, outputs=["y"])


def flattened(graph: Chain) -> None:
    elements = graph.node("ReduceProd", graph.node("Shape", graph.x), keepdims=1)
    graph.node("Reshape", graph.x, elements, outputs=["y"])


def heads(graph: Chain) -> None:
    """[1, n, 6] -> [1, n, 2, 3], with 3 = 6 // 2 and -1 for n."""
    width = graph.node("Div", graph.extent(graph.x, 2), graph.ints(2))
    batch = graph.extent(graph.x, 0)
    shape = graph.node("Concat", batch, graph.ints(-1), graph.ints(2), width, axis=0)
    graph.node("Reshape", graph.x, shape, outputs=["y"])


def expanded(graph: Chain) -> None:
    """As PyTorch writes `expand`: -1 stands for the extent that is there."""
    n = graph.extent(graph.x, 1)
    wanted = graph.node("Concat", graph.ints(2), n, graph.ints(-1), axis=0)
    ones = graph.constant([1, 1, 1], np.int64)
    is_kept = graph.node("Equal", wanted, graph.ints(-1, -1, -1))
    graph.node("Expand", graph.x, graph.node("Where", is_kept, ones, wanted), outputs=["y"])


def zeros(graph: Chain) -> None:
    shape = graph.node("Concat", graph.extent(graph.x, 1), graph.ints(6), axis=0)
    value = onnx.helper.make_tensor("value", TensorProto.FLOAT, [1], [2.5])
    filled = graph.node("ConstantOfShape", shape, value=value)
    graph.node("Add", graph.x, filled, outputs=["y"])


def positions(graph: Chain) -> None:
    """Range(0, n) as indices into a table, cut of the table too."""
    n = graph.node("Squeeze", graph.extent(graph.x, 1), graph.ints(0))
    zero, one = graph.constant(0, np.int64), graph.constant(1, np.int64)
    table = graph.constant(normal(LARGEST, 6))
    taken = graph.node("Gather", table, graph.node("Range", zero, n, one))
    cut = graph.node("Slice", table, graph.ints(0), graph.extent(graph.x, 1), graph.ints(0))
    graph.node("Add", graph.x, graph.node("Add", taken, cut), outputs=["y"])


def last_row(graph: Chain) -> None:
    last = graph.node("Gather", graph.x, graph.constant(-1, np.int64), axis=1)
    n = graph.node("Sub", graph.extent(graph.x, 1), graph.ints(1))
    again = graph.node("Gather", graph.x, n, axis=1)
    graph.node("Add", graph.node("Squeeze", again, graph.ints(1)), last, outputs=["y"])


def shifted(graph: Chain) -> None:
    """All but the first, and all but the last."""
    end = graph.ints(2**63 - 1)
    later = graph.node("Slice", graph.x, graph.ints(1), end, graph.ints(1))
    earlier = graph.node("Slice", graph.x, graph.ints(0), graph.ints(-1), graph.ints(1))
    graph.node("Sub", later, earlier, outputs=["y"])


def tiled(graph: Chain) -> None:
    row = graph.constant(normal(1, 1, 6))
    repeats = graph.node("Concat", graph.ints(1), graph.extent(graph.x, 1), graph.ints(1), axis=0)
    graph.node("Mul", graph.x, graph.node("Tile", row, repeats), outputs=["y"])


def scaled(graph: Chain) -> None:
    """By 1 / sqrt(6), computed from the shape, and by n, which only the run knows."""
    width = graph.node("Cast", graph.extent(graph.x, 2), to=TensorProto.FLOAT)
    scaled = graph.node("Div", graph.x, graph.node("Sqrt", width))
    n = graph.node("Cast", graph.extent(graph.x, 1), to=TensorProto.FLOAT)
    graph.node("Div", scaled, n, outputs=["y"])


def chosen(graph: Chain) -> None:
    """An extent, at a position that data gives, as a tensor that a run computes."""
    which = graph.node("Cast", graph.node("ReduceMax", graph.x), to=TensorProto.INT64)
    which = graph.node("Min", graph.node("Max", which, graph.ints(1)), graph.ints(1))
    extent = graph.node("Gather", graph.node("Shape", graph.x), which)
    graph.node("Add", graph.x, graph.node("Cast", extent, to=TensorProto.FLOAT), outputs=["y"])


CHAINS = {
    chosen: "[1, n, 6]",
    arithmetic: "[n * 2, 3]",
    flattened: "[n * 6]",
    heads: "[1, n, 2, 3]",
    expanded: "[2, n, 6]",
    zeros: "[1, n, 6]",
    positions: "[1, n, 6]",
    last_row: "[1, 6]",
    shifted: "[1, n - 1, 6]",
    tiled: "[1, n, 6]",
    scaled: "[1, n, 6]",
}


@pytest.mark.models
@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: chain.__name__)
def test_shapes_that_are_computed(chain):
    graph = Chain()
    chain(graph)
    sizes = (2, 7, LARGEST) if chain is shifted else (1, 2, 7, LARGEST)
    mod = check_results(graph.model("y"), lambda n: {"x": normal(1, n, 6)}, sizes)
    assert shape_of_result(mod) == CHAINS[chain]
    # No shape is computed when the model runs.
    text = mod.script(show_meta=False)
    assert "shape_of" not in text and "shape_to_tensor" not in text


# ---- what holds for some sizes only


def refused_reshape(graph: Chain) -> None:
    graph.node("Reshape", graph.x, graph.ints(1, 64, 6), outputs=["y"])


def refused_slice(graph: Chain) -> None:
    graph.node("Slice", graph.x, graph.ints(0), graph.ints(8), graph.ints(1), outputs=["y"])


def refused_table(graph: Chain) -> None:
    table = graph.constant(normal(11, 6))
    n = graph.extent(graph.x, 1)
    cut = graph.node("Slice", table, graph.ints(0), n, graph.ints(0))
    graph.node("Add", graph.x, cut, outputs=["y"])


def refused_position(graph: Chain) -> None:
    graph.node("Gather", graph.x, graph.constant(3, np.int64), axis=1, outputs=["y"])


def refused_expand(graph: Chain) -> None:
    graph.node("Expand", graph.x, graph.ints(1, 8, 6), outputs=["y"])


def refused_split(graph: Chain) -> None:
    graph.node("Split", graph.x, axis=1, outputs=["y", "z"])


def refused_data(graph: Chain) -> None:
    shape = graph.input("shape", [2], "int64")
    graph.node("Reshape", graph.x, shape, outputs=["y"])


REFUSED = {
    refused_reshape: 'operator Reshape (node "node_y", output "y") is not supported: it makes '
    "[1, 64, 6] of [1, n, 6], which have as many elements only for some sizes; export the model "
    "with fixed input shapes, or so that the shape follows from the sizes",
    refused_slice: 'operator Slice (node "node_y", output "y") is not supported: position 8, where '
    "it begins or ends, is inside the axis of n elements only for some sizes; give other largest "
    "sizes, with --max",
    refused_table: 'operator Slice (node "node_slice_2", output "slice_2") is not supported: '
    "position n, where it begins or ends, is inside the axis of 11 elements only for some sizes; "
    "give other largest sizes, with --max",
    refused_position: 'operator Gather (node "node_y", output "y") is not supported: position 3 is '
    "inside the axis of n elements only for some sizes",
    refused_expand: 'operator Expand (node "node_y", output "y") is not supported: it makes '
    "[1, 8, 6] of [1, n, 6], which is possible only for some sizes",
    refused_split: 'operator Split (node "node_y", output "y") is not supported: it splits an axis '
    "of n elements, a size that only the run knows",
    refused_data: 'operator Reshape (node "node_y", output "y") is not supported: the shape '
    "depends on data, and must follow from the sizes",
}


@pytest.mark.parametrize("chain", REFUSED, ids=lambda chain: chain.__name__)
def test_what_holds_for_some_sizes_is_refused(chain):
    graph = Chain()
    chain(graph)
    outputs = ("y", "z") if chain is refused_split else ("y",)
    assert message_of(graph.model(*outputs)) == REFUSED[chain]


def test_smaller_largest_sizes_decide():
    """A slice of the first 8 is the whole of up to 8, and one of 11 rows holds for up to 11."""
    graph = Chain()
    refused_slice(graph)
    assert shape_of_result(imported(graph.model("y"), {"n": 8})) == "[1, n, 6]"
    graph = Chain()
    refused_table(graph)
    assert shape_of_result(imported(graph.model("y"), {"n": 11})) == "[1, n, 6]"


def test_two_sizes_that_must_be_equal():
    graph = Graph()
    x, z = graph.input("x", [4, "n"]), graph.input("z", ["m", 4])
    graph.node("MatMul", x, z, outputs=["y"])
    assert message_of(graph.model("y"), {"n": 8, "m": 8}) == (
        "operator matmul of [4, n] and [m, 4] is not supported: n and m must be equal, and are not "
        "for all sizes; make the sizes that are always equal one, or fix them"
    )


def test_a_convolution_needs_as_many_steps_as_taps():
    graph = Graph()
    x = graph.input("x", [1, 3, "n"])
    graph.node("Conv", x, graph.weight(2, 3, 5), strides=[2], outputs=["y"])
    content = graph.model("y")
    (size,) = symbolic_sizes_of(imported(content)["main"])
    assert (size.lower_bound, size.upper_bound) == (5, LARGEST)
    assert message_of(content, {"n": 4}) == (
        'a tensor of shape [1, 2, (n - 5) // 2 + 1] has no elements even where size "n" is '
        "largest, 4; give a larger one"
    )


def test_a_recurrent_network_is_refused():
    graph = Graph()
    x = graph.input("x", ["n", 1, 4])
    weights = graph.weight(1, 9, 4), graph.weight(1, 9, 3)
    graph.node("GRU", x, *weights, outputs=["y"], hidden_size=3)
    assert message_of(graph.model("y")).startswith(
        'operator GRU (node "node_y", output "y") is supported for fixed shapes only, and here a '
        "tensor has the shape [n, 1, 4]"
    )


def test_padding_that_depends_on_the_size():
    graph = Graph()
    x = graph.input("x", [1, 3, "n"])
    weights = graph.weight(4, 3, 3)
    graph.node("Conv", x, weights, auto_pad="SAME_UPPER", strides=[2], outputs=["y"])
    message = message_of(graph.model("y"))
    assert message.startswith('TVM\'s ONNX importer failed at operator Conv (node "node_y"')
    assert message.endswith("; with fixed input shapes it may not")


def test_a_tensor_that_is_too_large():
    graph = Chain()
    product = graph.node("MatMul", graph.x, graph.node("Transpose", graph.x, perm=[0, 2, 1]))
    graph.node("MatMul", product, graph.x, outputs=["y"])
    content = graph.model("y")
    message = message_of(content, {"n": 100_000})
    assert (
        "of shape [1, 100000, 100000] takes 40000000000 bytes with the largest sizes, n=100000"
        in (message)
    )


# ---- names


def names_of(*shape, max_sizes) -> list[str]:
    graph = Graph()
    graph.node("Relu", graph.input("x", list(shape)), outputs=["y"])
    return [s.name for s in symbolic_sizes_of(imported(graph.model("y"), max_sizes)["main"])]


@pytest.mark.parametrize(
    ("shape", "symbols"),
    [
        (("seq len", "seq_len"), ["seq_len", "seq_len_1"]),
        (("2n", "int"), ["_2n", "int_"]),
        (('"; system("x"); //', "a\n#b"), ["___system__x______", "a__b"]),
        (("x" * 400, "ü"), None),
        (("n + 1", "n"), ["n___1", "n"]),
    ],
    ids=["apart", "words", "code", "long", "expression"],
)
def test_names_are_c_identifiers(shape, symbols):
    names = names_of(*shape, max_sizes=dict.fromkeys(shape, 4))
    assert len(set(names)) == 2
    assert all(name.isascii() and name.isidentifier() and len(name) < 140 for name in names)
    assert symbols is None or names == symbols


def test_names_in_messages_are_those_of_the_file():
    assert message_of(graph_of("a b"), {"c": 3}) == (
        'the model has no size "c"; its sizes are "a b"'
    )
    assert message_of(graph_of("a\x1b[2Jb"), {}).startswith(
        'input "x" has a dynamic shape, [1, a\\x1b[2Jb]; '
    )


def graph_of(name: str) -> bytes:
    graph = Graph()
    graph.node("Relu", graph.input("x", [1, name]), outputs=["y"])
    return graph.model("y")


# ---- operators


def elements(graph: Graph) -> list[str]:
    """Functions of elements, and of two tensors that are broadcast."""
    x, other = graph.input("x", ["m", "n", 6]), graph.input("z", ["n", 1])
    one, two = graph.constant(1, np.float32), graph.constant(2, np.float32)
    positive = graph.node("Add", graph.node("Abs", x), one)
    unit = graph.node("Div", x, graph.node("Add", positive, one))
    outputs = [graph.node(name, x) for name in _OF_REAL]
    outputs += [graph.node(name, positive) for name in ("Acosh", "Log", "Reciprocal", "Sqrt")]
    outputs += [graph.node(name, unit) for name in ("Acos", "Asin", "Atanh")]
    outputs += [graph.node(name, x, other) for name in ("Add", "Div", "Max", "Min", "Mul", "Sub")]
    compared = [graph.node(name, x, other) for name in _COMPARISONS]
    compared += [graph.node("IsInf", x), graph.node("IsNaN", x)]
    outputs.append(graph.node("Mod", x, other, fmod=1))
    logical = [graph.node(name, *compared[:2]) for name in ("And", "Or", "Xor")]
    outputs += [graph.node("Pow", positive, two), graph.node("Clip", x, one, two)]
    outputs.append(graph.node("Where", graph.node("Not", compared[0]), x, other))
    outputs += [graph.node("Cast", each, to=TensorProto.FLOAT) for each in [*compared, *logical]]
    return outputs


_OF_REAL = """Abs Asinh Atan Ceil Cos Cosh Elu Erf Exp Floor HardSigmoid HardSwish Identity
LeakyRelu Neg Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Tan Tanh""".split()
_COMPARISONS = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")


def reductions(graph: Graph) -> list[str]:
    """Over the axis of a size, and over another one beside it."""
    x = graph.input("x", ["m", "n", 6])
    names = ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceL2", "ReduceLogSumExp")
    outputs = [graph.node(name, x, axes=[axis]) for name in names for axis in (1, 2)]
    outputs += [graph.node("ReduceSum", x, graph.constant([a], np.int64)) for a in (1, 2)]
    outputs += [graph.node(name, x, axis=a) for name in ("Softmax", "LogSoftmax") for a in (1, 2)]
    weights = graph.weight(6), graph.weight(6)
    outputs.append(graph.node("LayerNormalization", x, *weights))
    return outputs


def images(graph: Graph) -> list[str]:
    """Windows over axes of which one has a size."""
    x = graph.input("x", [1, 3, "n", 6])
    normalized = [graph.weight(3) for _ in range(3)]
    variance = graph.constant(np.ones(3, np.float32))
    even, odd = {"kernel_shape": [2, 2], "strides": [2, 2]}, {"kernel_shape": [3, 3]}
    padded = {"pads": [1, 1, 1, 1]}
    outputs = [
        graph.node("Conv", x, graph.weight(4, 3, 3, 3), graph.weight(4), strides=[2, 1], **padded),
        graph.node("Conv", x, graph.weight(3, 1, 3, 3), group=3, dilations=[2, 1]),
        graph.node("Conv", x, graph.weight(4, 3, 3, 3), auto_pad="VALID"),
        graph.node("Conv", x, graph.weight(4, 3, 2, 4), auto_pad="SAME_UPPER"),
        graph.node("MaxPool", x, kernel_shape=[2, 4], auto_pad="SAME_LOWER"),
        graph.node("BatchNormalization", x, *normalized, variance),
        graph.node("MaxPool", x, **even),
        graph.node("MaxPool", x, **odd, **padded),
        graph.node("AveragePool", x, **even),
        graph.node("AveragePool", x, **odd, **padded),
        graph.node("AveragePool", x, **odd, **padded, count_include_pad=1),
        graph.node("GlobalAveragePool", x),
        graph.node("Flatten", x, axis=2),
        graph.node("Pad", x, graph.constant([0, 0, 1, 0, 0, 0, 2, 1], np.int64)),
        graph.node("Transpose", x, perm=[2, 0, 3, 1]),
        graph.node("Concat", x, x, axis=2),
        graph.node("Concat", x, x, axis=1),
    ]
    return [*outputs, *graph.node("Split", x, axis=1, outputs=["a", "b", "c"])]


def rows(graph: Graph) -> list[str]:
    """Windows over one axis."""
    x = graph.input("x", [1, 3, "n"])
    return [
        graph.node("Conv", x, graph.weight(4, 3, 3), strides=[2], pads=[1, 1]),
        graph.node("MaxPool", x, kernel_shape=[3], pads=[1, 1]),
        graph.node("AveragePool", x, kernel_shape=[3], strides=[2]),
    ]


def products(graph: Graph) -> list[str]:
    """Of matrices of which one or both have a size."""
    x, z = graph.input("x", [2, "n", 6]), graph.input("z", [2, 6, "n"])
    row = graph.node(
        "Reshape",
        graph.node("ReduceMax", x, axes=[0], keepdims=0),
        graph.constant([-1, 6], np.int64),
    )
    return [
        graph.node("MatMul", x, z),
        graph.node("MatMul", z, x),
        graph.node("MatMul", x, graph.weight(6, 5)),
        graph.node("Gemm", row, graph.weight(5, 6), graph.weight(5), transB=1, alpha=0.5),
    ]


OPERATORS = {
    elements: lambda n: {"x": normal(3, n, 6), "z": normal(n, 1)},
    reductions: lambda n: {"x": normal(3, n, 6)},
    images: lambda n: {"x": normal(1, 3, n, 6)},
    rows: lambda n: {"x": normal(1, 3, n)},
    products: lambda n: {"x": normal(2, n, 6), "z": normal(2, 6, n)},
}


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("make", OPERATORS, ids=lambda make: make.__name__)
def test_operators(make):
    graph = Graph()
    outputs = make(graph)
    has_batch = make in (elements, reductions)
    sizes = {"m": 3, "n": LARGEST} if has_batch else {"n": LARGEST}
    check_results(graph.model(*outputs), OPERATORS[make], (5, 6, LARGEST), sizes)
