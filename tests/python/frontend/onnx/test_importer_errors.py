"""ONNX files that are damaged or refused, and with which message; values in other files."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

import usmp
from support.byte_mutations import mutated_bytes
from support.lazy import lazy
from support.onnx_models import Graph, perceptron, small_model

onnx = lazy("onnx")
TensorProto = lazy("onnx:TensorProto")
helper = lazy("onnx.helper")
import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

pytestmark = pytest.mark.models

HERE = Path(".")
MUTANTS = 300


def message_of(content: bytes, folder: Path = HERE) -> str:
    with pytest.raises(usmp.UnsupportedModelError) as error:
        import_onnx(content, folder)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("shape", "shown", "names"),
    [
        ((1, "width"), "[1, width]", ["width"]),
        (("N", None, 3), "[N, x_1, 3]", ["x_1"]),
        ((1, -1), "[1, x_1]", ["x_1"]),
        (("N", "x_1", None), "[N, x_1, x_2]", ["x_1", "x_2"]),
    ],
    ids=str,
)
def test_other_symbolic_extents_need_bounds(shape, shown, names):
    flags = " ".join(f"--max {name}=N" for name in names)
    entries = ", ".join(f'"{name}": N' for name in names)
    assert message_of(small_model(shape=shape)) == (
        f'input "x" has a dynamic shape, {shown}; memory is planned at compile time: '
        "give the shape, with --input-shapes (in Python input_shapes), or say how large its sizes "
        f"may be, with {flags} (in Python max_sizes={{{entries}}}), N being none (None) where "
        "there is no limit"
    )


def test_input_without_a_shape():
    graph = Graph()
    graph.node("Relu", graph.input("x", None), outputs=["y"])
    assert message_of(graph.model("y")) == (
        'input "x" has no shape; memory is planned at compile time: give the shape, with '
        "--input-shapes (in Python input_shapes), or export the model with fixed input shapes"
    )


def test_input_that_is_no_tensor():
    graph = Graph()
    element = helper.make_tensor_type_proto(TensorProto.FLOAT, [4])
    graph.inputs.append(helper.make_value_info("s", helper.make_sequence_type_proto(element)))
    graph.node("SequenceAt", "s", graph.constant(0, np.int64), outputs=["y"])
    assert message_of(graph.model("y")) == 'input "s" is not a tensor'


def test_input_of_text():
    graph = Graph()
    graph.inputs.append(helper.make_tensor_value_info("t", TensorProto.STRING, [4]))
    graph.node("Identity", "t", outputs=["y"])
    assert message_of(graph.model("y")) == ('input "t" holds text; only numbers can be planned')


def with_external_data(folder: Path) -> bytes:
    """Writes `weights.bin` beside the model."""
    graph = Graph()
    graph.constant(np.arange(4), np.float32, name="w")
    graph.node("Mul", graph.input("x", [4]), "w", outputs=["y"])
    path = folder / "model.onnx"
    onnx.save_model(
        graph.proto("y"),
        path,
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
    )
    return path.read_bytes()


def test_values_in_another_file(tmp_path):
    with_external_data(tmp_path)
    factory = usmp.build(usmp.import_model(tmp_path / "model.onnx"))
    outputs = factory.run({"x": np.ones(4, np.float32)})
    np.testing.assert_array_equal(outputs["y"], [0, 1, 2, 3])


def test_values_in_a_file_that_is_missing(tmp_path):
    content = with_external_data(tmp_path)
    (tmp_path / "weights.bin").unlink()
    assert message_of(content, tmp_path) == (
        f'the values of initializer "w" are in the file "weights.bin", which is not in {tmp_path}; '
        "put it beside the model"
    )


def test_values_in_a_file_that_is_too_short(tmp_path):
    content = with_external_data(tmp_path)
    (tmp_path / "weights.bin").write_bytes(b"\0" * 4)
    assert message_of(content, tmp_path) == (
        'the values of initializer "w" are in the file "weights.bin", 16 bytes from byte 0; '
        "it has 4 bytes"
    )


@pytest.mark.parametrize("content", [b"x", b"something else", bytes(100)])
def test_another_kind_of_file(content):
    assert message_of(content).startswith("not an ONNX model, or a damaged one: ")


def test_truncated_at_every_hundredth_byte():
    content = perceptron()
    for size in range(8, len(content), 100):
        assert message_of(content[:size]).startswith("not an ONNX model, or a damaged one: ")


def test_operator_that_reads_what_nothing_wrote():
    graph = Graph()
    graph.input("x", [4])
    graph.node("Relu", "z", outputs=["y"])
    assert message_of(graph.model("y")) == (
        "not an ONNX model, or a damaged one: Nodes in a graph must be topologically sorted, "
        "however input 'z' of node: name: node_y OpType: Relu is not output of any previous nodes."
    )


def test_unsupported_operator():
    graph = Graph()
    graph.node("Det", graph.input("x", [3, 4, 4]), outputs=["y"])
    assert message_of(graph.model("y")) == (
        'operator Det (node "node_y", output "y") is not supported: its results were '
        "never compared with those of another runtime; compute it in the application, with the "
        "model's outputs"
    )


def test_branches_of_different_shapes():
    graph = Graph()
    graph.input("x", [2])
    branches = {}
    for name, inputs, shape in (("then_branch", ["x"], [2]), ("else_branch", ["x", "x"], [4])):
        node = helper.make_node("Concat", inputs, [name], axis=0)
        output = helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        branches[name] = helper.make_graph([node], name, [], [output])
    graph.node("If", graph.input("c", [], "bool"), outputs=["y"], **branches)
    assert message_of(graph.model("y")) == (
        'operator If (node "node_y", output "y") is not supported: its branches give float32[2] '
        "and float32[4]; which of them runs must be known at compile time, or both must give the "
        "same shapes"
    )


def test_operator_of_an_unknown_domain():
    graph = Graph()
    graph.node("Relu", graph.input("x", [4]), outputs=["y"], domain="mine")
    assert message_of(graph.model("y", domains=["mine"])) == (
        'operator mine.Relu (node "node_y", output "y") is not supported: it is a custom '
        "operator, and the file does not say what it computes; replace it by operators of ONNX, or "
        "end the model before it"
    )


def test_names_in_messages_are_printable():
    graph = Graph()
    graph.node("A\x1b", graph.input("x", [4]), outputs=["\x1b[2J"], domain="mine\n")
    assert message_of(graph.model("\x1b[2J", domains=["mine\n"])).startswith(
        'operator mine\\n.A\\x1b (node "node_\\x1b[2J", output "\\x1b[2J") is not supported: '
    )


def test_operator_that_onnxruntime_writes():
    graph = Graph()
    x = graph.input("x", [4, 4])
    graph.node("FusedMatMul", x, x, outputs=["y"], domain="com.microsoft")
    assert message_of(graph.model("y", domains=["com.microsoft"])).endswith(
        "is not supported: its results were never compared with those of another runtime; "
        "onnxruntime writes it when it optimizes or quantizes a model: save the model before that "
        "(ORT_DISABLE_ALL), or as QDQ"
    )


def test_operator_that_fails_in_conversion(capfd):
    graph = Graph()
    x = graph.quantize(graph.input("x", [1, 4]), [0.5, 0.25], [0, 0], axis=1)
    graph.dequantize(x, 0.5, 0)
    graph.nodes[-1].output[0] = "y"
    assert message_of(graph.model("y")) == (
        'operator QuantizeLinear (node "node_quantizelinear_0", output "quantizelinear_0") is not '
        "supported: its scale has the shape [2]; along axis 1 of [1, 4] it must be [4]"
    )
    assert capfd.readouterr().out == ""


@pytest.mark.slow
def test_mutated_models_are_imported_or_refused():
    graph = Graph()
    x = graph.input("x", ["N", 2, 6, 6])
    x = graph.node("Conv", x, graph.weight(2, 2, 1, 1), graph.weight(2), auto_pad="SAME_UPPER")
    x = graph.through(graph.node("Relu", x), 0.5, 3)
    x = graph.node("Reshape", x, graph.constant([0, -1], np.int64))
    graph.node("Gemm", x, graph.weight(3, 72), transB=1, outputs=["y"])
    content = graph.model("y")
    refused = 0
    for seed in range(MUTANTS):
        damaged = mutated_bytes(content, range(len(content)), Random(seed))
        try:
            import_onnx(damaged, HERE)
        except usmp.UnsupportedModelError as error:
            assert "\n" not in str(error)
            refused += 1
    assert MUTANTS // 2 < refused < MUTANTS
