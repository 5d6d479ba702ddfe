"""What the integers of inputs and outputs stand for, from the model file to `__tvm_main__`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tvm import relax
from tvm.ir.transform import PassContext

import usmp
from support.lazy import lazy
from support.onnx_models import Graph as OnnxGraph
from support.qdq_models import qdq_module
from support.tflite_builder import (
    Graph,
    Quantization,
    options,
    per_channel,
    per_tensor,
    write_model,
)
from usmp.frontend.tflite.importer import import_tflite

Interpreter = lazy("ai_edge_litert.interpreter:Interpreter")
import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

SCALE = float(np.float32(0.1))


def told(mod) -> dict[str, tuple[float | None, int | None]]:
    """Scale and zero point of each input and output."""
    attrs = usmp.build(mod).ir_mod["__tvm_main__"].attrs
    return {
        str(t.name): (t.scale, t.zero_point)
        for t in (*attrs["input_tensors"], *attrs["output_tensors"])
    }


def reshape_model(dtype: str, quantization: Quantization | None) -> bytes:
    graph = Graph()
    x = graph.input((1, 4), dtype, quantization, name="x")
    y = graph.tensor((4,), dtype, quantization, name="y")
    shape = graph.constant(np.array([4], np.int32))
    graph.operator("RESHAPE", [x, shape], [y])
    graph.output(y)
    return write_model(graph)


@pytest.mark.parametrize(
    ("dtype", "zero_point"), [("int8", -128), ("uint8", 128), ("int16", 0), ("int32", 0)]
)
def test_tflite_says_it(dtype, zero_point):
    mod = import_tflite(reshape_model(dtype, per_tensor(0.1, zero_point)))
    assert told(mod) == {"x": (SCALE, zero_point), "y": (SCALE, zero_point)}


@pytest.mark.parametrize(
    "quantization",
    [
        None,
        per_tensor(0.0, 3),
        Quantization((0.1,), ()),
        per_channel([0.1, 0.2, 0.3, 0.4], 1),
    ],
    ids=["none", "zero", "no-zero-point", "per-axis"],
)
def test_tflite_says_nothing_for_the_whole_tensor(quantization):
    mod = import_tflite(reshape_model("int8", quantization))
    assert told(mod) == {"x": (None, None), "y": (None, None)}


def test_floats_of_tflite_stand_for_themselves():
    graph = Graph()
    x = graph.input((1, 4), "float32", per_tensor(0.1), name="x")
    y = graph.tensor((1, 4), "int8", per_tensor(0.5, -3), name="y")
    graph.operator("QUANTIZE", [x], [y])
    graph.output(y)
    assert told(import_tflite(write_model(graph))) == {"x": (None, None), "y": (0.5, -3)}


@pytest.mark.slow
def test_state_of_tflite_is_no_output(shared_model):
    mod = usmp.import_model(shared_model("mww_okay_nabu_v2_int8"))
    assert told(mod) == {
        "serving_default_input_audio:0": (0.10196078568696976, -128),
        "StatefulPartitionedCall:0": (0.00390625, 0),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["mlperf_ad01_int8", "mlperf_vww_96_int8", "mcunet_vww_int8", "coral_split_concat"]
)
def test_models_have_what_litert_says(shared_model, name):
    """Scale and zero point are 0 there for what is not quantized."""
    path = shared_model(name)
    main = usmp.import_model(path)["main"]
    interpreter = Interpreter(str(path))
    inputs = [main.attrs["input_quantization"][param.name] for param in main.params]
    for details, parameters in (
        (interpreter.get_input_details(), inputs),
        (interpreter.get_output_details(), main.attrs["output_quantization"]),
    ):
        expected = [tensor["quantization"] for tensor in details]
        assert [tuple(p) or (0.0, 0) for p in parameters] == expected


def test_input_that_becomes_a_constant():
    mod = import_tflite(add_model())
    factory = usmp.build(mod, params={"a": np.zeros((1, 4), np.int8)})
    attrs = factory.ir_mod["__tvm_main__"].attrs
    (b,) = attrs["input_tensors"]
    assert (b.name, b.scale, b.zero_point) == ("b", 0.5, 2)


def add_model() -> bytes:
    graph = Graph()
    a = graph.input((1, 4), "int8", per_tensor(0.25, 1), name="a")
    b = graph.input((1, 4), "int8", per_tensor(0.5, 2), name="b")
    y = graph.tensor((1, 4), "int8", per_tensor(1.0, 3), name="y")
    graph.operator("ADD", [a, b], [y], options("AddOptions"))
    graph.output(y)
    return write_model(graph)


@pytest.mark.models
def test_integers_of_onnx_by_what_reads_and_writes_them():
    graph = OnnxGraph()
    x = graph.dequantize(graph.input("x", [1, 4], "uint8"), 0.5, 7, "uint8")
    y = graph.quantize(graph.node("Relu", x), 0.25, -5)
    graph.rename(y, "y")
    mod = import_onnx(graph.model("y", dtype="int8"), Path("."))
    assert told(mod) == {"x": (0.5, 7), "y": (0.25, -5)}


@pytest.mark.models
def test_float_input_that_is_quantized_in_the_graph_stays_float():
    graph = OnnxGraph()
    x = graph.through(graph.input("x", [1, 4]), 0.5, 7)
    graph.rename(graph.through(graph.node("Relu", x), 0.25, -5), "y")
    factory = usmp.build(import_onnx(graph.model("y"), Path(".")))
    (tensor,) = factory.ir_mod["__tvm_main__"].attrs["input_tensors"]
    assert (tensor.dtype, tensor.scale, tensor.zero_point) == ("float32", None, None)
    assert told(import_onnx(graph.model("y"), Path("."))) == {"x": (None, None), "y": (None, None)}


def test_readers_that_disagree_tell_nothing():
    def body(graph, x):
        return graph.dequantize(x, 0.5, 1), graph.dequantize(x, 0.25, 1)

    mod = qdq_module(body, ((1, 4), "int8"))
    assert told(mod)["x0"] == (None, None)


def test_scales_along_an_axis_tell_nothing():
    def body(graph, x):
        return graph.quantize(graph.dequantize(x, [0.5, 0.25], [0, 0]), [0.5, 0.25], [0, 0])

    mod = qdq_module(body, ((1, 2), "int8"))
    assert told(mod) == {"x0": (None, None), "output": (None, None)}


def test_outputs_in_a_tuple_keep_their_order():
    def body(graph, x):
        real = relax.op.nn.relu(graph.dequantize(x, 0.5, 1))
        return graph.quantize(real, 0.25, 2), real, graph.quantize(real, 0.125, 3, "uint8")

    assert told(qdq_module(body, ((1, 4), "int8"))) == {
        "x0": (0.5, 1),
        "output0": (0.25, 2),
        "output1": (None, None),
        "output2": (0.125, 3),
    }


def test_places_in_the_workspace_keep_it():
    with PassContext(config={"tir.usmp.use_workspace_io": True}):
        assert told(import_tflite(add_model())) == {"a": (0.25, 1), "b": (0.5, 2), "y": (1.0, 3)}


def with_attribute(name: str, value: object):
    mod = qdq_module(lambda graph, x: (x, x), ((1, 4), "int8"))
    main = mod["main"].with_attr(name, value)
    mod.update_func(mod.get_global_var("main"), main)
    return mod


def test_attributes_of_a_module_of_the_users_own():
    mod = with_attribute("input_quantization", {"x0": [0.5, -1]})
    assert told(mod) == {"x0": (0.5, -1), "output0": (None, None), "output1": (None, None)}
    mod = with_attribute("output_quantization", [[], [0.25, 3]])
    assert told(mod) == {"x0": (None, None), "output0": (None, None), "output1": (0.25, 3)}


@pytest.mark.parametrize(
    ("name", "value", "output"),
    [
        ("input", {"x0": [0.5, -1]}, (None, None)),
        ("output", [[], [0.25, 3]], (0.25, 3)),
    ],
)
def test_attributes_of_the_release_before(name, value, output):
    old, new = f"{name}_quantisation", f"{name}_quantization"
    text = (
        rf'^the attribute "{old}" of main is now "{new}"; the old name goes with the next release$'
    )
    with pytest.warns(DeprecationWarning, match=text):
        found = told(with_attribute(old, value))
    assert found == told(with_attribute(new, value))
    assert found["output1"] == output


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("input_quantization", [1], '"input_quantization" of main must be a dictionary'),
        (
            "input_quantization",
            {"x0": [0.5]},
            '"input_quantization"["x0"] of main must be [scale, zero_point] or [], not (0.5,)',
        ),
        (
            "output_quantization",
            [[], [0.0, 1]],
            '"output_quantization" of main must be [scale, zero_point] or [], not (0, 1)',
        ),
        (
            "output_quantization",
            [[]],
            '"output_quantization" of main must be a list with an element for each of its 2 '
            "outputs",
        ),
    ],
)
def test_attribute_of_another_form(name, value, message):
    with pytest.raises(ValueError) as error:
        usmp.build(with_attribute(name, value))
    assert str(error.value) == f"the attribute {message}"
