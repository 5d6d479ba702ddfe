"""Quantized `.onnx` and `.pt2` models from the file to C: integers everywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tvm_ffi
from tvm import tirx
from tvm.ir.transform import PassContext

import usmp
from support.lazy import lazy
from support.levels import number
from support.qdq_models import float_counts, integer_calls
from usmp.aot_pipeline import lower_to_aot
from usmp.planning.session import planning_session
from usmp.relax.transform import ConvertQDQToIntegers

onnx = lazy("onnx")
numpy_helper = lazy("onnx.numpy_helper")
import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

PER_CHANNEL_BYTES = 2048
"""Beside 3 %: factors of channels, tables of functions and softmax."""

MODELS = {
    "residual_cnn": (
        "quantize conv2d conv2d1 conv2d2 conv2d3 add max_pool mean fully_connected softmax relu "
        "dequantize",
        3,
    ),
    "mobile_block": (
        "quantize conv2d conv2d1 depthwise_conv2d conv2d2 add average_pool fully_connected "
        "dequantize",
        2,
    ),
    "perceptron": (
        "quantize fully_connected add fully_connected1 add1 fully_connected2 dequantize",
        1,
    ),
}
"""By the function of support/onnx_models.py that makes it: what computes the model, and the steps
of its output that rounding may add up to."""


def constant_bytes(factory) -> int:
    return factory.metadata["modules"]["default"]["memory"]["functions"]["main"][0][
        "constants_size_bytes"
    ]


def floats_between_operators(mod) -> list[str]:
    """The names of the tensors of floats that operators give to one another."""
    names: list[str] = []

    def on_alloc(alloc: tirx.AllocBuffer) -> None:
        if "float" in str(alloc.buffer.dtype):
            names.append(alloc.buffer.name)

    main = lower_to_aot(mod)["__tvm_main__"]
    tvm_ffi.structural_walk(main.body, (tirx.AllocBuffer, on_alloc))
    return names


@pytest.fixture(autouse=True)
def _lowered_once():
    """One after the other, operators compute the same, and are planned sooner."""
    config = {"tir.usmp.optimize": "ram"}
    with planning_session(), PassContext(config=config, disabled_pass=["StreamOperators"]):
        yield


def integer_bytes(content: bytes) -> int:
    """The weights and biases of a file, without scales and shapes."""
    import onnx

    tensors = map(onnx.numpy_helper.to_array, onnx.ModelProto.FromString(content).graph.initializer)
    return sum(t.nbytes for t in tensors if t.dtype in (np.int8, np.uint8, np.int32))


@pytest.mark.models
@pytest.mark.parametrize("activations", ["int8", "uint8"])
@pytest.mark.parametrize("name", MODELS)
def test_operators_of_onnx(name, activations):
    from support import onnx_models

    content = onnx_models.quantized(getattr(onnx_models, name)(), activations)
    mod = import_onnx(content, Path("."))
    assert integer_calls(mod) == MODELS[name][0].split()
    assert float_counts(mod) == {}


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize(
    ("name", "activations"),
    [
        *[("residual_cnn", "uint8"), ("mobile_block", "int8"), ("perceptron", "uint8")],
        *[("residual_cnn", "int8"), ("mobile_block", "uint8"), ("perceptron", "int8")][
            : number(0, 3)
        ],
    ],
)
def test_onnx(name, activations):
    from support import onnx_models

    content = onnx_models.quantized(getattr(onnx_models, name)(), activations)
    mod = ConvertQDQToIntegers()(import_onnx(content, Path(".")))
    assert floats_between_operators(mod) == []
    factory = usmp.build(mod)
    reference = onnx_models.Reference(content)
    assert constant_bytes(factory) <= 1.03 * integer_bytes(content) + PER_CHANNEL_BYTES
    for seed in range(3):
        inputs = reference.random_inputs(100 + seed)
        (output,), (expected,) = factory.run(inputs).values(), reference.run(inputs).values()
        assert np.ptp(expected) > 0
        step = np.diff(np.unique(np.concatenate([output, expected], axis=None))).min()
        assert np.abs(output - expected).max() <= (MODELS[name][1] + 0.01) * step


PYTORCH_MODELS = {
    "Cnn": (
        "quantize conv2d clamp depthwise_conv2d clamp1 conv2d1 max_pool average_pool "
        "fully_connected dequantize softmax",
        {"softmax": 1},
        1e-3,
    ),
    "Residual": (
        "quantize conv2d conv2d1 conv2d2 conv2d3 add mean fully_connected dequantize",
        {},
        0.00519,
    ),
    "Perceptron": (
        "quantize fully_connected fully_connected1 fully_connected2 dequantize",
        {},
        0.00147,
    ),
}
"""What computes each, what of it in float, and by how much the outputs differ at most: one or two
steps."""


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("name", PYTORCH_MODELS)
def test_pytorch(name):
    models = pytest.importorskip("support.pytorch_models")
    from usmp.frontend.pytorch.importer import import_pytorch

    calls, floats, tolerance = PYTORCH_MODELS[name]
    kind = getattr(models, name)
    module = models.quantized(models.seeded(kind))
    mod = import_pytorch(models.exported(module, models.example_of(kind)))
    assert integer_calls(mod) == calls.split()
    assert float_counts(mod) == floats
    if name == "Residual" and not number(0, 1):
        # Of operators that a network of ONNX has, too.
        return
    mod = ConvertQDQToIntegers()(mod)
    assert len(floats_between_operators(mod)) == sum(floats.values())
    factory = usmp.build(mod)
    held = [*module.state_dict().values()]
    weights = sum(t.numel() * t.element_size() for t in held if not t.dtype.is_floating_point)
    # Biases, which are floats of as many bytes.
    weights += sum(t.numel() * 4 for t in held if t.dtype.is_floating_point and t.ndim == 1)
    assert constant_bytes(factory) <= 1.03 * weights + PER_CHANNEL_BYTES
    for seed in range(3):
        x = models.example_of(kind, 100 + seed)
        (output,) = factory.run({mod["main"].params[0].name: x.numpy()}).values()
        assert np.abs(output - models.run(module, x)).max() <= tolerance
