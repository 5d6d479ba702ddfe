"""ONNX operators and options that are refused, each by its name and with the reason."""

from __future__ import annotations

import numpy as np
import pytest

import usmp
from support.onnx_models import Graph
from support.onnx_nodes import given, imported, later, node
from support.operator_trials.onnx.samples import int64, values

IMAGE = values("float32", [1, 2, 5, 7])
INF = np.inf
INT16 = 5
"""Its number in ONNX."""

REFUSED = {
    "a maximum of regions": (
        later(
            "RoiAlign",
            values("float32", [1, 1, 4, 4]),
            given([0, 0, 2, 2]),
            given(0, dtype="int64"),
            mode="max",
        ),
        'mode "max" is computed differently by every runtime; use mode "avg"',
    ),
    "statistics of a batch": (
        later(
            "BatchNormalization",
            values("float32", [1, 2, 3]),
            *[np.ones(2, np.float32)] * 4,
            training_mode=1,
        ),
        "it computes the statistics of a batch, as in training; export the model for inference",
    ),
    "a float bias of integers": (
        later("Shrink", values("int8", [3]), bias=0.5),
        "int8 elements get a bias that is a float; cast them to float",
    ),
    "a power of integers": (
        later("Pow", values("int32", [3]), np.int64(2).reshape(())),
        "its base is int32; cast it to float",
    ),
    "an even window": (
        later("LRN", values("float32", [1, 4, 2, 2]), size=4),
        "size is 4; only odd sizes have a middle",
    ),
    "a logarithm of integers": (
        later("ReduceLogSum", values("int32", [3], 1, 9)),
        "of int32 it is not defined to the last digit; cast the input to float",
    ),
    "bits of small floats": (
        later("BitCast", values("float16", [3]), opset=26, to=INT16),
        "the bits of float16 elements cannot be read; end the model before it, and read the bytes "
        "as the other type",
    ),
    "a condition that is data": (
        later("Compress", values("float32", [3]), values("bool", [3])),
        "the condition, which says how many elements there will be, must be constant, since memory "
        "is planned at compile time",
    ),
    "dropout of training": (
        later(
            "Dropout", values("float32", [3]), np.float32(0.5).reshape(()), np.array(True)
        ),
        "training_mode is true, and what is dropped would be random; export the model for "
        "inference",
    ),
    "what is found in the data": (
        later("NonZero", values("float32", [3])),
        "how many elements it finds depends on the data, and memory is planned at compile time; "
        "use Where, or end the model before it and find them in the application",
    ),
    "a shape that is data": (
        later("Pad", values("float32", [3]), values("int64", [2], 0, 2), opset=17),
        "the widths must be constant, since memory is planned at compile time",
    ),
    **{
        f"{name} of integers by a zero": (
            later(name, values("int32", [3]), np.array([2, 0, -1], np.int32)),
            "its divisor is a constant with a 0, by which no int32 element can be divided; replace "
            "it by another number, or divide floats",
        )
        for name in ("Div", "Mod")
    },
    "a known quotient by zero": (
        later("Div", np.array([5, 6], np.int32), np.array([0], np.int32)),
        "its divisor is a constant with a 0, by which no int32 element can be divided; replace it "
        "by another number, or divide floats",
    ),
    "blocks of another number": (
        later(
            "DequantizeLinear",
            values("int8", [5, 2]),
            np.ones((2, 2), np.float32),
            opset=21,
            axis=0,
            block_size=2,
        ),
        "its scale has shape [2, 2]; with block_size 2 along axis 0 of [5, 2] it should be [3, 2]",
    ),
    "a long transform of complex numbers": (
        later("DFT", values("float32", [1, 4097, 2]), opset=20),
        "its length is 4097; supported: 1 to 4096, and of real numbers even lengths to 65536 "
        "without other prime factors than 2, 3 and 5",
    ),
    "frames of one or of two sides": (
        later("STFT", values("float32", [1, 9, 1]), np.array(2), None, np.array(4)),
        "onesided is left out, for which ONNX's definition and its inference of shapes do not "
        "agree; write the attribute",
    ),
    "a mel scale beyond the spectrum": (
        later(
            "MelWeightMatrix",
            *(np.array(number) for number in (4, 16, 16000)),
            *(np.array(edge, np.float32) for edge in (0, 1e9)),
        ),
        "its frequencies lie outside of the spectrum",
    ),
    "an edge of no frequency": (
        later(
            "MelWeightMatrix",
            *(np.array(number) for number in (4, 16, 16000)),
            *(np.array(edge, np.float32) for edge in (-600, 8000)),
        ),
        "from -600.0 to 8000.0 hertz",
    ),
    "a transform along two axes": (
        later("DFT", values("float32", [2, 8, 1]), None, int64(0, 1), opset=20),
        "its axis is [0, 1]; it must be one number",
    ),
    "a window of integers": (
        later(
            "STFT", values("float32", [1, 9, 1]), np.array(2), np.ones(4, np.int32), onesided=1
        ),
        "of int32; cast it to float",
    ),
    "an axis of an image that is not there": (
        later("Resize", IMAGE, None, None, int64(9), opset=18, axes=[7]),
        "axis 7 is outside of -4 to 3, the axes of its input of rank 4",
    ),
    "an axis of an image that is named twice": (
        later("Resize", IMAGE, None, None, int64(9, 8), opset=18, axes=[3, -1]),
        "axes [3, -1] name an axis of its input of rank 4 twice",
    ),
    "a scale that is no number": (
        later("Resize", IMAGE, None, np.array([1, 1, 2, np.nan], np.float32)),
        "scales [1.0, 1.0, 2.0, nan] are not one positive number for each of 4 axes",
    ),
    "a region that is not finite": (
        later(
            "Resize",
            values("float32", [4]),
            np.array([0, INF], np.float32),
            None,
            int64(8),
            coordinate_transformation_mode="tf_crop_and_resize",
        ),
        "its region of interest is [0.0, inf]",
    ),
    "a cache of another type": (
        later("TensorScatter", values("float32", [1, 3, 2]), values("int32", [1, 2, 2]), opset=24),
        "its update is int32, and its cache float32",
    ),
    "blocks of integers that are not known": (
        later(
            "QuantizeLinear",
            values("float32", [4, 2]),
            np.ones((2, 2), np.float32),
            opset=21,
            axis=0,
            block_size=2,
            output_dtype=99,
        ),
        "output_dtype 99 is the number of no element type",
    ),
    "one of several that is left out": (
        later("Concat", values("float32", [3]), None, axis=0),
        "input 1 is missing",
    ),
    "a cache that is too short": (
        later(
            "TensorScatter", values("float32", [1, 2, 3]), values("float32", [1, 3, 3]), opset=24
        ),
        "an update of shape [1, 3, 3] does not go into a cache of shape [1, 2, 3] along axis 1",
    ),
    "what was never compared": (
        later("MaxUnpool", values("float32", [1, 1, 2, 2]), values("int64", [1, 1, 2, 2], 0, 3),
             kernel_shape=[2, 2]),
        "TVM computes it otherwise than onnxruntime; use ConvTranspose or Resize, or "
        "ScatterND with the indices",
    ),
}  # fmt: skip


@pytest.mark.models
@pytest.mark.parametrize(("trial", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused_by_name(trial, reason):
    trial = trial()
    with pytest.raises(usmp.UnsupportedModelError) as error:
        imported(trial.model)
    assert str(error.value) == f'operator {trial.operator} (output "y0") is not supported: {reason}'


def test_what_a_function_passes_on_is_refused_if_it_is_missing():
    operands = [values("float32", [1, 3, 4])] * 3
    trial = node("LinearAttention", *operands, opset=27, q_num_heads=2, kv_num_heads=2, outputs=2)
    with pytest.raises(usmp.UnsupportedModelError, match="input 0 is missing"):
        imported(trial.model)


@pytest.mark.models
def test_operators_of_microsoft_are_not_those_of_onnx():
    """TVM looks at the name only."""
    graph = Graph()
    x = graph.input("x", [1, 2, 3])
    graph.node("BiasGelu", x, graph.input("b", [3]), outputs=["y"])
    with pytest.raises(usmp.UnsupportedModelError, match=r"^operator BiasGelu .*not supported"):
        imported(graph.model("y", opset=23))


@pytest.mark.models
def test_operators_newer_than_those_that_were_compared():
    graph = Graph()
    graph.node("Relu", graph.input("x", [2]), outputs=["y"])
    with pytest.raises(usmp.UnsupportedModelError) as error:
        imported(graph.model("y", opset=29))
    assert str(error.value) == (
        "the model uses version 29 of the ONNX operators; the newest that was compared with "
        "onnxruntime is 28: export it with opset 28 or older"
    )
