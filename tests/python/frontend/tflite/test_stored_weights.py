"""Weights of integers, multiplied by float32 data, as LiteRT computes it."""

from __future__ import annotations

import numpy as np
import pytest

import usmp
from support.litert import Reference
from support.quantized_models.model import ACTIVATIONS, Constant, Spec, int32
from support.tflite_builder import (
    Graph,
    Quantization,
    options,
    per_channel,
    per_tensor,
    write_model,
)
from support.tflite_refusals import refusal
from usmp.frontend.tflite.importer import import_tflite

IMAGE = (2, 5, 4, 4)
FLOAT = 4
"""Bytes of a float32."""

CONV = options(
    "Conv2DOptions", padding=0, stride_h=2, stride_w=1, dilation_h_factor=1, dilation_w_factor=2
)
DEPTHWISE = options(
    "DepthwiseConv2DOptions",
    padding=0,
    stride_h=1,
    stride_w=1,
    dilation_h_factor=1,
    dilation_w_factor=1,
    depth_multiplier=2,
)
TRANSPOSED = options("TransposeConvOptions", padding=0, stride_h=2, stride_w=2)


def matmul(**fields):
    return options("BatchMatMulOptions", **fields)


def dense(**fields):
    return options("FullyConnectedOptions", **fields)


# Name -> operator, shape of the weight, axis of its scales (None for one), shape of the output,
# whether it has a bias, options.
OPERATORS = {
    "conv": ("CONV_2D", (6, 3, 2, 4), None, (2, 3, 4, 6), True, CONV),
    "conv_channels": ("CONV_2D", (6, 3, 2, 4), 0, (2, 3, 4, 6), True, CONV),
    "conv_groups": ("CONV_2D", (6, 3, 2, 2), 0, (2, 3, 4, 6), True, CONV),
    "depthwise": ("DEPTHWISE_CONV_2D", (1, 3, 3, 8), 3, (2, 5, 4, 8), True, DEPTHWISE),
    "transposed": ("TRANSPOSE_CONV", (3, 3, 2, 4), 0, (2, 10, 8, 3), True, TRANSPOSED),
    "dense": ("FULLY_CONNECTED", (7, 20), None, (8, 7), True, dense()),
    "dense_channels": (
        "FULLY_CONNECTED",
        (7, 80),
        0,
        (2, 7),
        False,
        dense(
            asymmetric_quantize_inputs=True, fused_activation_function=ACTIVATIONS["RELU_N1_TO_1"]
        ),
    ),
    "product": ("BATCH_MATMUL", (4, 5), 1, (2, 20, 5), False, matmul()),
    "product_transposed": (
        "BATCH_MATMUL",
        (1, 5, 20),
        None,
        (2, 4, 5),
        False,
        matmul(adj_x=True, adj_y=True, asymmetric_quantize_inputs=True),
    ),
}


def add_operator(graph, name, x, rows, *, dequantizes=False, dtype="int8"):
    """Append an operator on the image, or BATCH_MATMUL on its rows, and declare its output."""
    operator, shape, axis, result, has_bias, table = OPERATORS[name]
    generator = np.random.default_rng(len(name))
    stored = generator.integers(-127, 127, shape, np.int8, endpoint=True)
    scales = generator.uniform(0.002, 0.02, 1 if axis is None else shape[axis]).tolist()
    zero_point = 3 if dequantizes and axis is None else 0
    how = per_tensor(scales[0], zero_point) if axis is None else per_channel(scales, axis)
    if dtype == "float16":
        stored, how, scales = (stored / 64).astype(dtype), None, []
    weight = graph.constant(stored, how)
    if dequantizes:
        real = graph.tensor(shape, "float32")
        graph.operator("DEQUANTIZE", [weight], [real], options("DequantizeOptions"))
        weight = real
    inputs = [rows if operator == "BATCH_MATMUL" else x, weight]
    if operator == "TRANSPOSE_CONV":
        inputs = [graph.constant(np.array(result, np.int32)), weight, x]
    if has_bias:
        bias = generator.standard_normal(result[-1]).astype(np.float32)
        inputs.append(graph.constant(bias))
    output = graph.tensor(result, "float32", name=name)
    graph.operator(operator, inputs, [output], table)
    graph.output(output)
    return stored.nbytes + FLOAT * (len(scales) + (result[-1] if has_bias else 0))


def model_of(names, **how):
    """The operators on one image, and about how many bytes of constants they have."""
    graph = Graph()
    x = graph.input(IMAGE, "float32", name="x")
    rows = graph.tensor((2, 20, 4), "float32")
    graph.operator("RESHAPE", [x], [rows], options("ReshapeOptions", new_shape=[2, 20, 4]))
    stored = [add_operator(graph, name, x, rows, **how) for name in names]
    return write_model(graph), sum(stored)


def check(content, stored, tolerance):
    """Run on images of which one may be zero, or of one sign; no weight may become float32."""
    factory = usmp.build(import_tflite(content))
    reference, generator = Reference(content), np.random.default_rng(7)
    for factors in ([1, 30], [0, -1], [0, 0]):
        image = generator.standard_normal(IMAGE).astype(np.float32)
        image = np.abs(image) if 0 in factors else image
        image *= np.array(factors, np.float32).reshape(2, 1, 1, 1)
        outputs, expected = factory.run({"x": image}), reference.run({"x": image})
        assert outputs.keys() == expected.keys()
        for name, values in expected.items():
            atol = tolerance * float(np.abs(values).max())
            np.testing.assert_allclose(outputs[name], values, tolerance, atol, err_msg=name)
    (main,) = factory.metadata["modules"]["default"]["memory"]["functions"]["main"]
    padding = 16 * 3 * len(OPERATORS)
    assert stored <= main["constants_size_bytes"] <= stored + padding


@pytest.mark.slow
@pytest.mark.models
def test_dynamic_range():
    """The data is quantized as in LiteRT, so that sums of integers are equal."""
    check(*model_of(OPERATORS), 1e-6)


@pytest.mark.slow
@pytest.mark.models
def test_weight_only():
    """The weights have zero points here, which DEQUANTIZE knows."""
    check(*model_of(OPERATORS, dequantizes=True), 2e-6)


@pytest.mark.models
def test_weights_of_float16():
    check(*model_of(["conv_groups", "dense"], dequantizes=True, dtype="float16"), 2e-6)


@pytest.mark.models
def test_tables():
    """Only the rows that are looked up become float32."""
    graph, generator = Graph(), np.random.default_rng(3)
    indices = graph.input((4,), "int32", name="i")
    rows = generator.integers(-127, 127, (20, 6), np.int8, endpoint=True)
    scales = generator.uniform(0.01, 0.1, 20).tolist()
    whole, own = per_tensor(0.1, -4), per_channel(scales, 0)
    real = graph.tensor(rows.shape, "float32")
    outputs = [graph.tensor((4, 6), "float32") for _ in range(2)]
    graph.operator("DEQUANTIZE", [graph.constant(rows, whole)], [real])
    graph.operator("GATHER", [real, indices], outputs[:1], options("GatherOptions", axis=0))
    graph.operator("EMBEDDING_LOOKUP", [indices, graph.constant(rows, own)], outputs[1:])
    graph.output(*outputs)
    content, inputs = write_model(graph), {"i": np.array([19, 0, 7, 7], np.int32)}
    factory = usmp.build(import_tflite(content))
    ours, theirs = factory.run(inputs), Reference(content).run(inputs)
    for name, values in theirs.items():
        np.testing.assert_array_equal(ours[name], values, name, strict=True)
    (main,) = factory.metadata["modules"]["default"]["memory"]["functions"]["main"]
    assert main["constants_size_bytes"] < 2 * rows.nbytes + FLOAT * len(scales) + 48


# ---- refusals

ROWS = Spec((2, 3), 0, 0, "float32")
REAL = Spec((1, 4, 4, 4), 0, 0, "float32")
POINT = options(
    "Conv2DOptions", padding=0, stride_h=1, stride_w=1, dilation_h_factor=1, dilation_w_factor=1
)
ONES = np.ones((5, 3), np.int8)
ONE_SCALE = "whose weights have one scale: TFLite's kernel reads more scales; quantize the weight "


@pytest.mark.parametrize(
    ("code", "inputs", "output", "table", "reason"),
    [
        (
            "FULLY_CONNECTED",
            [ROWS, Constant(ONES, per_tensor(0.1, 2))],
            ROWS(2, 5),
            dense(),
            'weight "t1" of float32 data has zero point 2; supported: 0, as TFLite\'s kernels '
            "leave it out",
        ),
        (
            "FULLY_CONNECTED",
            [ROWS, Constant(ONES.astype(np.uint8), per_tensor(0.1))],
            ROWS(2, 5),
            dense(),
            'weight of float32 data "t1" is of type uint8; supported: int8, int4',
        ),
        (
            "FULLY_CONNECTED",
            [ROWS, Constant(ONES, per_channel([0.1] * 3, 1))],
            ROWS(2, 5),
            dense(),
            'weight "t1" has 3 scales for 5 output channels',
        ),
        (
            "FULLY_CONNECTED",
            [ROWS, Constant(np.ones((3, 3), np.int8), Quantization((0.1,) * 3, (0,) * 3, -7))],
            ROWS(2, 3),
            dense(),
            'weight "t1" has scales along axis -7; supported: 0, that of the output channels',
        ),
        (
            "CONV_2D",
            [REAL, Constant(np.ones((4, 1, 1, 2), np.int8), per_tensor(0.1))],
            REAL,
            POINT,
            f"groups of channels {ONE_SCALE}per channel, or the data too",
        ),
        (
            "DEPTHWISE_CONV_2D",
            [REAL, Constant(np.ones((1, 1, 1, 8), np.int8), per_tensor(0.1))],
            REAL(1, 4, 4, 8),
            DEPTHWISE,
            f"8 channels {ONE_SCALE}per channel, or the data too",
        ),
        (
            "BATCH_MATMUL",
            [ROWS(2, 2, 4, 3), Constant(ONES.T.copy(), per_tensor(0.1))],
            ROWS(2, 2, 4, 5),
            matmul(),
            "float32 data of shape [2, 2, 4, 3] and a weight of int8 of shape [3, 5]: supported "
            "are one matrix as weight and one batch axis",
        ),
        (
            "TRANSPOSE_CONV",
            [
                int32(1, 4, 4, 1),
                Constant(np.ones((1, 1, 1, 4), np.int8), per_tensor(0.1), "int4"),
                REAL,
            ],
            REAL(1, 4, 4, 1),
            options("TransposeConvOptions", padding=0, stride_h=1, stride_w=1),
            'weight of float32 data "t1" is of type int4; supported: int8',
        ),
    ],
)
def test_what_litert_does_not_compute(code, inputs, output, table, reason):
    assert refusal(code, inputs, output, table) == reason


def test_scales_along_an_axis_that_is_not_there():
    graph = Graph()
    x = graph.input((2, 3), "float32")
    weight = graph.constant(ONES, Quantization((0.1,) * 5, (0,) * 5, 9))
    real, output = graph.tensor((5, 3), "float32"), graph.tensor((2, 5), "float32")
    graph.operator("DEQUANTIZE", [weight], [real], options("DequantizeOptions"))
    graph.operator("FULLY_CONNECTED", [x, real, -1], [output], dense())
    graph.output(output)
    with pytest.raises(
        usmp.UnsupportedModelError, match='"t1" is quantized along axis 9, and has 2 axes'
    ):
        import_tflite(write_model(graph))


def test_sums_that_leave_32_bits():
    weight = Constant(np.full((1, 70_000), 127, np.int8), per_tensor(0.1))
    data = Spec((1, 70_000), 0, 0, "float32")
    assert refusal("FULLY_CONNECTED", [data, weight], ROWS(1, 1), dense()) == (
        "its accumulators could reach 2266950000, more than 32 bits hold"
    )
