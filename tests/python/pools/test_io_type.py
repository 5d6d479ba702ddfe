"""`io_type`: a model whose inputs and outputs are integers computes what the one of floats does."""

from __future__ import annotations

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support import onnx_models, public_models
from support.lazy import lazy
from support.levels import long_run
from support.tflite_builder import Graph, options, per_tensor, write_model
from usmp.frontend.tflite.importer import import_tflite

import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

WORKSPACE_IO = {"tir.usmp.use_workspace_io": True}
MCUNET_PEAKS = {"float": 76800, "int8": 20406}
"""With inputs and outputs in the workspace: the float image alone; little beside the int8 one."""


def facts_of(factory, entry="main"):
    functions = factory.metadata["modules"]["default"]["memory"]["functions"]
    (main,) = [f for f in functions["main"] if f.get("entry", "main") == entry]
    return main["inputs"], main["outputs"]


def quantized(value, tensor):
    """An array of floats as the integers of an input."""
    limits, parameters = np.iinfo(tensor["dtype"]), tensor["quantization"]
    steps = np.rint(value / np.float32(parameters["scale"])) + parameters["zero_point"]
    return np.clip(steps, limits.min, limits.max).astype(tensor["dtype"])


def real(value, tensor):
    """The integers of an output as floats; floats as they are."""
    if "quantization" not in tensor:
        return value
    steps = value.astype(np.int32) - tensor["quantization"]["zero_point"]
    return steps.astype(np.float32) * np.float32(tensor["quantization"]["scale"])


def assert_same_results(mod, io_type="quantized", config=None, floats=None):
    """The outputs of both are the same; returns the builds of floats and of integers."""
    with PassContext(config=config or {}):
        floats = floats or usmp.build(mod)
        integers = usmp.build(mod, io_type=io_type)
    inputs, outputs = facts_of(integers)
    generator = np.random.default_rng(0)
    for size in (1, 30):
        given = {
            name: (size * generator.normal(size=tensor["shape"])).astype(np.float32)
            for name, tensor in facts_of(floats)[0].items()
        }
        expected = floats.run(given)
        converted = {
            name: quantized(value, inputs[name]) if "quantization" in inputs[name] else value
            for name, value in given.items()
        }
        results = integers.run(converted)
        assert list(results) == list(expected)
        for name, result in results.items():
            np.testing.assert_array_equal(real(result, outputs[name]), expected[name])
    return floats, integers


def tflite_model(dtype: str, zero_point: int) -> bytes:
    """y = x + x between QUANTIZE and DEQUANTIZE; int16 has no zero points."""
    graph = Graph()
    before, after = per_tensor(0.1, zero_point), per_tensor(0.25, zero_point and zero_point - 7)
    x = graph.input((1, 40), "float32", name="x")
    q = graph.tensor((1, 40), dtype, before)
    total = graph.tensor((1, 40), dtype, after)
    y = graph.tensor((1, 40), "float32", name="y")
    graph.operator("QUANTIZE", [x], [q])
    if dtype == "uint8":
        graph.operator("QUANTIZE", [q], [total])
    else:
        graph.operator("ADD", [q, q], [total], options("AddOptions"))
    graph.operator("DEQUANTIZE", [total], [y])
    graph.output(y)
    return write_model(graph)


@pytest.mark.cc
@pytest.mark.parametrize(("dtype", "zero_point"), [("int8", -3), ("uint8", 130), ("int16", 0)])
@pytest.mark.parametrize("config", [{}, WORKSPACE_IO], ids=["own", "workspace"])
def test_tflite(dtype, zero_point, config):
    mod = import_tflite(tflite_model(dtype, zero_point))
    floats, factory = assert_same_results(mod, config=config)
    inputs, outputs = facts_of(factory)
    assert (inputs["x"]["dtype"], outputs["y"]["dtype"]) == (dtype, dtype)
    assert inputs["x"]["size"] == 40 * np.dtype(dtype).itemsize
    assert inputs["x"]["quantization"] == {
        "scale": float(np.float32(0.1)),
        "zero_point": zero_point,
    }
    assert "#define TVMGEN_DEFAULT_X_SCALE 0.1f" in factory.header
    assert f"#define TVMGEN_DEFAULT_X_ZERO_POINT {zero_point}\n" in factory.header
    assert "#define TVMGEN_DEFAULT_Y_SCALE 0.25f" in factory.header
    assert ["roundf" in one.source for one in (floats, factory)] == [True, False]
    small, large = sorted(each.ram_bytes for each in (floats, factory))
    assert (small, large) == (factory.ram_bytes, floats.ram_bytes) and small < large


def small_cnn() -> bytes:
    """An image with its channels first, a convolution and a classifier."""
    graph = onnx_models.Graph()
    x = graph.input("image", [1, 3, 6, 6])
    x = graph.node("Relu", graph.node("Conv", x, graph.weight(4, 3, 3, 3), graph.weight(4)))
    x = graph.node("Flatten", graph.node("GlobalAveragePool", x))
    x = graph.node("Gemm", x, graph.weight(5, 4), graph.weight(5), transB=1)
    graph.node("Softmax", x, outputs=["probabilities"])
    return graph.model("probabilities")


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize(
    ("make", "activations"),
    [(small_cnn, "int8"), (onnx_models.perceptron, "uint8")],
)
def test_onnx(make, activations):
    mod = import_onnx(onnx_models.quantized(make(), activations), None)
    _, factory = assert_same_results(mod)
    inputs, outputs = facts_of(factory)
    assert {tensor["dtype"] for tensor in (*inputs.values(), *outputs.values())} == {activations}


@pytest.mark.slow
@pytest.mark.cc
def test_pytorch(tmp_path):
    pytorch_models = pytest.importorskip("support.pytorch_models")
    torch = pytorch_models.torch

    class Small(torch.nn.Module):
        example = (1, 3, 6, 6)

        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = torch.nn.Conv2d(3, 4, 3), torch.nn.Linear(64, 5)

        def forward(self, image):
            return torch.softmax(self.last(torch.relu(self.first(image)).flatten(1)), 1)

    module = pytorch_models.seeded(Small)
    path = tmp_path / "cnn.pt2"
    path.write_bytes(
        pytorch_models.exported(pytorch_models.quantized(module), pytorch_models.example_of(module))
    )
    _, factory = assert_same_results(usmp.import_model(path), "int8")
    inputs, outputs = facts_of(factory)
    # The quantizer leaves the softmax at the end in float.
    assert [t["dtype"] for t in (*inputs.values(), *outputs.values())] == ["int8", "float32"]
    (reason,) = factory.ir_mod.attrs["io_types"]["float"].values()
    assert reason == "is computed by softmax"


@pytest.mark.slow
@pytest.mark.cc
def test_several_models():
    models = {
        "first": import_tflite(tflite_model("int8", -3)),
        "second": import_tflite(tflite_model("uint8", 130)),
    }
    factory = usmp.build(models, io_type="quantized")
    alone = {name: usmp.build(mod, io_type="quantized") for name, mod in models.items()}
    for entry, dtype in (("first", "int8"), ("second", "uint8")):
        x = np.arange(40, dtype=dtype).reshape(1, 40)
        result = factory.run({"x": x}, entry)["y"]
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, alone[entry].run({"x": x})["y"])
    with pytest.raises(ValueError, match=r'^io_type "int8": input "x" of entry "second" is quant'):
        usmp.build(models, io_type="int8")


def test_an_unknown_type():
    with pytest.raises(
        ValueError,
        match=r'^unknown io_type "int4"\. Did you mean "int8"\?',
    ):
        usmp.build(import_tflite(tflite_model("int8", -3)), io_type="int4")


@pytest.mark.models
@long_run()
@pytest.mark.parametrize("name", ["mcunet_vww_int8"])
def test_the_memory_of_a_model(shared_model, name):
    path = shared_model(name)
    floats = public_models.build(path, use_workspace_io=True)
    mod = public_models.imported(path)
    _, integers = assert_same_results(mod, "int8", WORKSPACE_IO, floats)
    inputs, outputs = facts_of(integers)
    assert [t["size"] for t in (*inputs.values(), *outputs.values())] == [19200, 2]
    peaks = {
        io_type: factory.metadata["modules"]["default"]["memory"]["ram"]["size_bytes"]
        for io_type, factory in (("float", floats), ("int8", integers))
    }
    assert peaks == MCUNET_PEAKS
