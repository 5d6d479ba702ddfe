"""Operators that run know which operators of the model file they were made from."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from tvm.ir.transform import PassContext

import usmp
from conftest import ROOT
from support.accelerator_models import CONV2D, registered
from support.lazy import lazy
from support.onnx_models import Graph
from support.planner_contexts import planner_context
from support.small_digits import small_convolutions
from usmp.frontend.tflite.importer import import_tflite
from usmp.report import print_memory_summary, print_operators
from usmp.support.model_operators import name, type_counts

onnx = lazy("onnx")
TensorProto = lazy("onnx:TensorProto")
helper = lazy("onnx.helper")

pytestmark = pytest.mark.usefixtures("digits_session")

DIGITS = ROOT / "examples/digits/digits_int8.tflite"


def operators_of(model, **options) -> tuple[list[tuple[int, str]], list[list[int]]]:
    """Index and type of those of the model, and for each that runs the indices of its own."""
    with planner_context(options):
        factory = usmp.build(model)
    module = factory.metadata["modules"]["default"]
    table = module["model_operators"]
    return (
        [(operator["index"], operator["type"]) for operator in table],
        [[table[p]["index"] for p in o["model_operators"]] for o in module["operators"]],
    )


TFLITE = [
    (0, "CONV_2D"),
    (1, "CONV_2D"),
    (2, "DEPTHWISE_CONV_2D"),
    (3, "CONV_2D"),
    (4, "ADD"),
    (5, "CONV_2D"),
    (6, "MAX_POOL_2D"),
    (7, "MEAN"),
    (8, "FULLY_CONNECTED"),
    (9, "SOFTMAX"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "made_from"),
    [
        ({"disabled_pass": ("StreamOperators",)}, [[0], [1], [2], [3, 4], [5], [6], [7], [8], [9]]),
        # Run interleaved.
        ({}, [[0, 1], [2, 3, 4], [5, 6], [7], [8], [9]]),
    ],
)
def test_operators_of_tflite_files(options, made_from):
    table, found = operators_of(DIGITS, **options)
    assert table == TFLITE
    assert found == made_from


def built(path: Path, graph: onnx.GraphProto, opset: int = 17) -> dict:
    """The metadata of a module that is built from a file with this graph."""
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), path)
    return usmp.build(path).metadata["modules"]["default"]


def float_graph() -> onnx.ModelProto:
    """Convolution, normalization and activation, a reshape, and a matrix product."""

    def constant(name: str, *shape: int) -> onnx.TensorProto:
        count = 1
        for extent in shape:
            count *= extent
        return helper.make_tensor(name, TensorProto.FLOAT, shape, [0.5] * count)

    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="conv"),
        helper.make_node("BatchNormalization", ["a", "g", "b", "m", "v"], ["n"], name="norm"),
        helper.make_node("Relu", ["n"], ["r"], name="relu"),
        helper.make_node("Flatten", ["r"], ["f"], name="flat"),
        helper.make_node("Gemm", ["f", "k"], ["y"], name="dense"),
    ]
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 4, 4])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3])
    constants = [constant("w", 2, 2, 1, 1), *(constant(n, 2) for n in "gbmv"), constant("k", 32, 3)]
    graph = helper.make_graph(nodes, "net", [image], [result], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@pytest.mark.slow
def test_nodes_of_onnx_files(tmp_path):
    onnx.save(float_graph(), tmp_path / "net.onnx")
    module = usmp.build(tmp_path / "net.onnx").metadata["modules"]["default"]
    described = [(o["type"], o["name"], o["inputs"]) for o in module["model_operators"]]
    assert described == [
        ("Conv", "conv", ["x"]),
        ("BatchNormalization", "norm", ["a"]),
        ("Relu", "relu", ["n"]),
        ("Flatten", "flat", ["r"]),
        ("Gemm", "dense", ["f"]),
    ]
    assert module["model_operators"][0]["outputs"] == [
        {"name": "a", "dtype": "float32", "shape": [1, 2, 4, 4]}
    ]
    # Nothing runs for a reshape: it is with what reads its result.
    assert [o["model_operators"] for o in module["operators"]] == [[0, 1, 2], [3, 4]]


def test_nodes_between_quantizers_are_first(tmp_path):
    graph = Graph()
    x = graph.through(graph.input("x", [1, 2, 4, 4]), 0.5)
    weights = graph.dequantize(graph.constant(np.ones((2, 2, 1, 1), np.int8)), 0.5, 0)
    y = graph.node("Relu", graph.node("Conv", x, weights))
    graph.rename(graph.through(y, 0.25), "y")
    (tmp_path / "net.onnx").write_bytes(graph.model("y"))
    with PassContext(disabled_pass=["StreamOperators"]):
        factory = usmp.build(tmp_path / "net.onnx")
    made_from = [o["model_operators"] for o in factory.metadata["modules"]["default"]["operators"]]
    assert made_from == [[0], [3, 4, 1, 2, 5, 6]]
    assert "  /* operators 3 Conv, 4 Relu (2x4x4) */\n" in factory.source


@pytest.mark.slow
def test_what_is_live_while_an_operator_runs():
    with PassContext(disabled_pass=["StreamOperators"]):
        module = usmp.build(DIGITS).metadata["modules"]["default"]
    pools = {pool["name"]: pool for pool in module["memory"]["pools"]}
    pool = pools["global_workspace"]
    constants = {b["name"]: b["size"] for b in pools["global_const_workspace"]["buffers"]}
    for operator in module["operators"]:
        positions = range(operator["start"], operator["stop"])
        live = [
            sum(
                buffer["size"]
                for buffer in pool["buffers"]
                if any(start <= position < stop for start, stop in buffer["live_ranges"])
            )
            for position in positions
        ]
        assert operator["live_bytes"] == {"global_workspace": max(live)}
        read = operator["buffers"]["read"]
        assert operator["weights_size_bytes"] == sum(constants.get(name, 0) for name in read)
    peak = module["operators"][pool["peak_operator"]]
    assert set(pool["live_at_peak"]) <= {*peak["buffers"]["read"], *peak["buffers"]["written"]}
    assert "peak_operator" not in pools["global_const_workspace"]
    # Each operator reads what the one before it has written.
    for before, after in zip(module["operators"], module["operators"][1:], strict=False):
        assert set(before["buffers"]["written"]) & set(after["buffers"]["read"])


@pytest.mark.slow
def test_comments_in_the_c_name_them():
    with PassContext(disabled_pass=["StreamOperators"]):
        source = usmp.build(DIGITS).source
    assert "  /* operator 0 CONV_2D (8x8x16) */\n" in source
    assert "  /* operators 3 CONV_2D, 4 ADD (4x4x32) */\n" in source


@pytest.mark.slow
def test_operators_of_accelerators_and_of_several_entries():
    with registered(CONV2D):
        module = usmp.build(DIGITS, "accel,c").metadata["modules"]["default"]
    assert [o["model_operators"] for o in module["operators"]] == [[n] for n in range(10)]
    model = import_tflite(small_convolutions())
    module = usmp.build({"one": model, "two": model}).metadata["modules"]["default"]
    assert [o["entry"] for o in module["model_operators"]] == ["one"] * 5 + ["two"] * 5
    assert [o["index"] for o in module["model_operators"]] == [*range(5), *range(5)]
    assert {o["entry"] for o in module["operators"] if min(o["model_operators"]) > 4} == {"two"}
    text = io.StringIO()
    print_memory_summary(module, Console(file=text, width=200))
    (peak,) = [line for line in text.getvalue().splitlines() if line.startswith("Peak of")]
    assert peak.split(" at ")[1] == "operators 0 CONV_2D, 1 CONV_2D (4x4x4) in entry one."


def test_what_nothing_runs_for_is_with_what_reads_or_writes_it(tmp_path):
    """Of a tuple, and of a reshape at the end."""
    ends = ["x", "y"]
    image, result = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 2]) for name in ends
    )
    nodes = [
        helper.make_node("Split", ["x"], ["a", "b"], name="split", axis=0, num_outputs=2),
        helper.make_node("Concat", ["b", "a"], ["c"], name="join", axis=0),
        helper.make_node("Sigmoid", ["c"], ["s"], name="sigmoid"),
        helper.make_node("Reshape", ["s", "shape"], ["t"], name="last"),
        helper.make_node("Reshape", ["t", "back"], ["y"], name="back"),
    ]
    shapes = [
        helper.make_tensor(name, TensorProto.INT64, [2], extents)
        for name, extents in (("shape", [2, 4]), ("back", [4, 2]))
    ]
    graph = helper.make_graph(nodes, "net", [image], [result], shapes)
    module = built(tmp_path / "net.onnx", graph, opset=18)
    names = [operator["name"] for operator in module["model_operators"]]
    assert names == ["split", "join", "sigmoid", "last", "back"]
    assert {i for o in module["operators"] for i in o["model_operators"]} == set(range(5))


def not_computed(module: dict) -> list[str]:
    """What the table of operators says below it."""
    text = io.StringIO()
    print_operators(module, Console(file=text, width=1000))
    found = [line.split(": ") for line in text.getvalue().splitlines() if ": " in line]
    return [words for title, words in found if title == "Not computed at run time"]


@pytest.mark.slow
def test_nodes_of_onnx_files_that_are_known_at_compile_time(tmp_path):
    """A constant computes nothing, and is no operator."""
    image, result = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in ("x", "y")
    )
    nodes = [
        helper.make_node("Constant", [], ["two"], value_float=2.0),
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("ConstantOfShape", ["shape"], ["zeros"]),
        helper.make_node("Exp", ["zeros"], ["ones"]),
        helper.make_node("Add", ["two", "ones"], ["threes"]),
        helper.make_node("Dropout", ["x"], ["same"]),
        helper.make_node("Mul", ["same", "threes"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "net", [image], [result])
    module = built(tmp_path / "net.onnx", graph)
    listed = [operator["index"] for operator in module["model_operators"]]
    assert listed == [1, 2, 3, 4, 5, 6]
    assert [[listed[n] for n in o["model_operators"]] for o in module["operators"]] == [[3, 4, 6]]
    assert not_computed(module) == ["1 Shape, 2 ConstantOfShape, 5 Dropout."]


def test_types_of_nodes_that_are_known_at_compile_time(tmp_path):
    values = {"x": [2, 4], "y": [2, 4], "c": [2], "m": [], "dead": [2, 4]}
    infos = {n: helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in values.items()}
    shape = helper.make_tensor_value_info("s", TensorProto.INT64, [2])
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Cast", ["s"], ["c"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMax", ["c"], ["m"], keepdims=0),
        helper.make_node("Tanh", ["x"], ["dead"]),
        helper.make_node("Mul", ["x", "m"], ["y"]),
    ]
    known = [shape, infos["c"], infos["m"], infos["dead"]]
    graph = helper.make_graph(nodes, "net", [infos["x"]], [infos["y"]], value_info=known)
    module = built(tmp_path / "net.onnx", graph)
    assert [o for each in module["model_operators"] for o in each["outputs"]] == [
        {"name": "s", "dtype": "int64", "shape": [2]},
        {"name": "c", "dtype": "float32", "shape": [2]},
        {"name": "m", "dtype": "float32", "shape": []},
        {"name": "dead", "dtype": "float32", "shape": [2, 4]},
        {"name": "y", "dtype": "float32", "shape": [2, 4]},
    ]
    assert not_computed(module) == ["0 Shape to 3 Tanh."]


def test_a_copy_of_an_input_is_what_its_node_computes(tmp_path):
    x, y, z = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xyz")
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Identity", ["x"], ["z"])]
    graph = helper.make_graph(nodes, "net", [x], [y, z])
    module = built(tmp_path / "net.onnx", graph)
    assert [o["model_operators"] for o in module["operators"]] == [[0], [1]]
    assert not_computed(module) == []


def test_many_that_nothing_runs_for_are_counted(tmp_path):
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy")
    nodes = []
    for index in range(7):
        given, taken = "x" if not index else f"t{index}", "y" if index == 6 else f"t{index + 1}"
        nodes += [
            helper.make_node("Shape", ["x"], [f"s{index}"]),
            helper.make_node("ConstantOfShape", [f"s{index}"], [f"z{index}"]),
            helper.make_node("Sub", [given, f"z{index}"], [taken]),
        ]
    graph = helper.make_graph(nodes, "net", [x], [y])
    module = built(tmp_path / "net.onnx", graph)
    (words,) = not_computed(module)
    assert words == "14 operators, Shape (7), ConstantOfShape (7); --format json lists them."


@pytest.mark.slow
def test_nodes_of_pytorch_programs_that_are_known_at_compile_time():
    from support.pytorch_models import exported, torch
    from usmp.frontend.pytorch.importer import import_pytorch

    class Scaled(torch.nn.Module):
        def forward(self, x):
            a, b = torch.split(x, 2, dim=1)
            scale = torch.arange(2, dtype=torch.float32) * 2
            return torch.relu(a * scale) + b.detach()

    model = import_pytorch(exported(Scaled(), torch.zeros(3, 4)))
    module = usmp.build(model).metadata["modules"]["default"]
    types = [operator["type"].split(".")[1] for operator in module["model_operators"]]
    assert types == ["split_with_sizes", "arange", "mul", "mul", "relu", "alias", "add"]
    (words,) = not_computed(module)
    assert re.findall(r"\d+ (\w+)", words) == ["arange", "mul", "alias"]


def test_a_type_that_ends_a_comment_stays_in_it(tmp_path):
    """Files name their own functions, and types of operators stand in comments of the C."""
    name = "*/ int evil; /* \\\n??/"
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    body = [helper.make_node("Relu", ["a"], ["r"]), helper.make_node("Sigmoid", ["r"], ["b"])]
    function = helper.make_function("own", name, ["a"], ["b"], body, opsets[:1])
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in "xy"]
    node = helper.make_node(name, ["x"], ["y"], domain="own")
    graph = helper.make_graph([node], "net", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=opsets, functions=[function])
    onnx.save(model, tmp_path / "net.onnx")
    (line,) = [s for s in usmp.build(tmp_path / "net.onnx").source.splitlines() if "evil" in s]
    assert line.startswith("  /* operator 0 own.") and line.count("*/") == line.count("/*") == 1
    assert line.endswith(" */") and "\\\n" not in line and "??/" not in line


@pytest.mark.parametrize(
    ("type", "shown"),
    [
        ("aten.convolution.default", "convolution"),
        ("aten.max_pool2d_with_indices.default", "max_pool2d"),
        ("aten._softmax.default", "softmax"),
        ("aten.add.Tensor", "add"),
        ("quantized_decomposed.dequantize_per_channel.default", "dequantize_per_channel"),
        ("CONV_2D", "CONV_2D"),
        ("com.microsoft.QGemm", "com.microsoft.QGemm"),
    ],
)
def test_types_of_pytorch_have_neither_library_nor_overload(type, shown):
    assert name({"index": 3, "type": type}) == f"3 {shown}"
    assert type_counts([{"type": type}] * 2) == f"{shown} (2)"
