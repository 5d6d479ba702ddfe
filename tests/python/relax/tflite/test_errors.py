"""What users often give the importer that it does not support, and what they are told."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

import usmp
from quantised_models.model import Constant, Spec, int32, one_operator, scalar
from tflite_builder import Graph, Quantisation, options, per_channel, per_tensor, write_model
from tflite_refusals import message_of, refusal
from tflite_tables import with_schema
from usmp.relax import import_tflite as importer
from usmp.relax.import_tflite import import_tflite
from usmp.relax.tflite import CONVERTERS

X = Spec((2, 3), 0.05, -7)
REAL = Spec((2, 3), 0, 0, "float32")
IMAGE = Spec((1, 4, 4, 3), 0.05, -7)
WEIGHT = Constant(np.ones((4, 3), np.int8), per_tensor(0.1))
DENSE = options("FullyConnectedOptions")
CONV = options("Conv2DOptions", padding=0, stride_h=1, stride_w=1)
POOL = options("Pool2DOptions", padding=0, stride_h=1, stride_w=1, filter_height=1, filter_width=1)


# ---- operators


def test_operator_that_is_not_supported_on_integers():
    known = ", ".join(sorted(CONVERTERS))
    assert refusal("FLOOR", [X], X) == f"not supported on integers; supported: {known}"


@pytest.mark.parametrize("spec", [X, REAL], ids=["int8", "float32"])
def test_custom_operators_are_named(spec):
    graph = Graph()
    x, y = (graph.tensor(spec.shape, spec.dtype, spec.quantisation) for _ in range(2))
    graph.inputs.append(x)
    graph.operator("CUSTOM", [x], [y], custom_code="FlexErf")
    graph.output(y)
    message = message_of(write_model(graph))
    assert message.startswith('operator 0 (CUSTOM "FlexErf", output "t1"): ')
    assert "not support" in message


@pytest.mark.parametrize("code", ["IF", "WHILE"])
def test_control_flow(code):
    assert message_of(one_operator(code, [REAL], [REAL])) == (
        f"operator 0 ({code}) runs other subgraphs; supported is only CALL_ONCE, which initialises "
        "variables: convert the model without control flow"
    )


def test_what_tvm_cannot_import_is_its_failure():
    message = refusal("MUL", [REAL], REAL, options("MulOptions"))
    assert message.startswith("TVM's importer failed: ")


def test_what_a_converter_did_not_foresee_is_ours(monkeypatch):
    def convert(context, operator) -> None:
        raise KeyError("x")

    monkeypatch.setitem(importer.CONVERTERS, "ABS", convert)
    assert refusal("ABS", [X], X) == (
        "its conversion failed, a fault in usmp, please report it: KeyError: 'x'"
    )


# ---- types


@pytest.mark.parametrize(
    ("code", "weight", "data", "table"),
    [
        ("FULLY_CONNECTED", WEIGHT, REAL, DENSE),
        ("CONV_2D", Constant(np.ones((3, 1, 1, 3), np.int8), per_tensor(0.1)), IMAGE, CONV),
        ("BATCH_MATMUL", WEIGHT, REAL, options("BatchMatMulOptions", adj_y=True)),
    ],
)
def test_real_data_with_integer_weights(code, weight, data, table):
    data = Spec(data.shape, 0, 0, "float32")
    assert refusal(code, [data, weight], data, table) == (
        'data "t0" of float32 with weight "t1" of int8 ("dynamic range" quantisation) is not '
        "supported; quantise the data too (full integer quantisation), or nothing"
    )


def test_real_output_of_integers():
    assert refusal("FULLY_CONNECTED", [X, WEIGHT], Spec((2, 4), 0, 0, "float32"), DENSE) == (
        'output "t2" is of type float32; supported: int8'
    )


def test_weights_of_float16():
    weight = Constant(np.ones((4, 3), np.float16))
    assert refusal("FULLY_CONNECTED", [REAL, weight], Spec((2, 4), 0, 0, "float32"), DENSE) == (
        'tensor "t1" is of type float16; supported only for constants that DEQUANTIZE reads'
    )


def test_data_of_float16():
    half = Spec((2, 3), 0, 0, "float16")
    assert refusal("DEQUANTIZE", [half], REAL) == (
        'tensor "t0" is of type float16; supported only for constants that DEQUANTIZE reads'
    )


def test_dequantised_weights_of_float16_are_supported():
    graph = Graph()
    x = graph.input((2, 3), "float32")
    half = graph.constant(np.array([[1, 2, 3], [4, 5, 6]], np.float16))
    weight, y = graph.tensor((2, 3), "float32"), graph.tensor((2, 2), "float32")
    graph.operator("DEQUANTIZE", [half], [weight])
    graph.operator("FULLY_CONNECTED", [x, weight, -1], [y], DENSE)
    graph.output(y)
    outputs = usmp.build(import_tflite(write_model(graph))).run({"t0": np.eye(2, 3, dtype="f4")})
    np.testing.assert_array_equal(outputs["t3"], [[1, 4], [2, 5]])


def test_text():
    text = Spec((2,), 0, 0, "string")
    assert message_of(one_operator("RESHAPE", [text, int32(2, 1)], [text(2, 1)])) == (
        'tensor "t0" is of type STRING; supported: float32, float16, int32, uint8, int64, bool, '
        "int16, int8, float64, uint64, uint32, uint16, int4, resource"
    )


@pytest.mark.parametrize(
    ("dtype", "kinds"), [("int4", "constants"), ("resource", "results of VAR_HANDLE")]
)
def test_types_that_nothing_computes(dtype, kinds):
    spec = Spec((2, 2), 0.1, 0, dtype)
    assert message_of(one_operator("RESHAPE", [spec, int32(4)], [spec(4)])) == (
        f'tensor "t0" is of type {dtype}; supported only for {kinds}'
    )
    graph = Graph()
    x, y = graph.input(X.shape, "int8"), graph.tensor(X.shape, "int8")
    between = graph.tensor((6,), dtype)
    graph.operator("RESHAPE", [x], [between])
    graph.operator("RESHAPE", [between], [y])
    graph.output(y)
    assert message_of(write_model(graph)) == (
        f'operator 0 (RESHAPE, output "t2"): tensor "t2" is of type {dtype}; '
        f"supported only for {kinds}"
    )


def test_reshaped_integers_of_another_type():
    assert refusal("RESHAPE", [X, int32(6)], Spec((6,), 0.05, -7, "uint8")) == (
        'output "t2" is uint8[6]; the inputs and options give int8[6]'
    )


def test_parameters_are_integers():
    axes = Constant(np.array([1], np.float32))
    reducer = options("ReducerOptions", keep_dims=False)
    assert refusal("MEAN", [X, axes], X(2), reducer) == (
        'input 1, "t1", is of type float32; supported: int32, int64'
    )


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_sparse_weights(dtype):
    data = Spec((2, 3), 0.05 * (dtype == "int8"), 0, dtype)
    weight = Constant(np.ones((4, 3), dtype), per_tensor(0.1) if dtype == "int8" else None)

    def make_sparse(model) -> None:
        model.subgraphs[0].tensors[1].sparsity = schema.SparsityParametersT()

    content = one_operator("FULLY_CONNECTED", [data, weight], [data(2, 4)], DENSE)
    message = message_of(with_schema(content, make_sparse))
    assert message.startswith('operator 0 (FULLY_CONNECTED, output "t2"): tensor "t1" is sparse')
    assert message.endswith("convert the model without sparsity")


# ---- quantisation


def test_activation_without_scale():
    assert refusal("FULLY_CONNECTED", [X(2, 3), WEIGHT], Spec((2, 4), 0), DENSE) == (
        'tensor "t2" has no scale and zero point'
    )


def test_weight_without_scale():
    weight = Constant(WEIGHT.data)
    assert refusal("FULLY_CONNECTED", [X, weight], X(2, 4), DENSE) == 'weight "t1" has no scale'


def test_scale_without_zero_point():
    content = Constant(np.ones((2, 3), np.int8), Quantisation((0.1,), ()))
    assert refusal("ADD", [X, content], X, options("AddOptions")) == (
        'tensor "t1" has 1 quantisation scales and no zero point'
    )


@pytest.mark.parametrize(
    ("code", "shape", "output", "table"),
    [
        ("ADD", (2, 3), X, options("AddOptions")),
        ("FULLY_CONNECTED", (4, 3), X(2, 4), DENSE),
    ],
)
def test_scale_of_zero(code, shape, output, table):
    content = Constant(np.ones(shape, np.int8), per_tensor(0.0))
    assert refusal(code, [X, content], output, table) == (
        'tensor "t1" has a quantisation scale of 0'
    )


def test_activation_with_scales_of_channels():
    graph = Graph()
    x = graph.input((2, 3), "int8", per_channel([0.1, 0.2, 0.3], 1))
    y = graph.tensor((2, 3), "int8", per_tensor(0.1))
    graph.operator("ABS", [x], [y])
    graph.output(y)
    assert message_of(write_model(graph)) == (
        'operator 0 (ABS, output "t1"): tensor "t0" has 3 scales; activations are quantised per '
        "tensor"
    )


def test_other_number_of_scales_than_channels():
    weight = Constant(WEIGHT.data, per_channel([0.1, 0.2, 0.3], 0))
    assert refusal("FULLY_CONNECTED", [X, weight], X(2, 4), DENSE) == (
        'weight "t1" has 3 scales for 4 output channels'
    )


def test_zero_point_outside_the_type():
    assert refusal("ABS", [X], Spec((2, 3), 0.1, 128)) == (
        'tensor "t1" has zero point 128, which int8 cannot hold'
    )


@pytest.mark.parametrize("side", [0, 1])
def test_zero_points_that_kernels_of_int16_ignore(side):
    specs = [Spec((2, 3), 0.1, 0, "int16"), Spec((2, 4), 0.1, 0, "int16")]
    specs[side] = Spec(specs[side].shape, 0.1, 5, "int16")
    name = ("t0", "t2")[side]
    assert refusal("FULLY_CONNECTED", [specs[0], WEIGHT], specs[1], DENSE) == (
        f'"{name}" is of type int16 and has zero point 5; required: 0'
    )


def test_joined_tensors_of_which_one_is_quantised():
    table = options("ConcatenationOptions", axis=0)
    assert refusal("CONCATENATION", [X, Spec((2, 3), 0)], X(4, 3), table) == (
        'tensor "t1" has no scale and zero point'
    )


# ---- shapes and options


def test_bias_of_another_type():
    wide, bias = Spec((2, 3), 0.1, 0, "int16"), Constant(np.zeros(4, np.float32))
    assert refusal("FULLY_CONNECTED", [wide, WEIGHT, bias], wide(2, 4), DENSE) == (
        'bias "t2" is of type float32; supported: int32, int64'
    )


def test_output_that_is_not_the_rows_of_the_weight():
    assert refusal("FULLY_CONNECTED", [X, WEIGHT], X(8, 1), DENSE) == (
        "shapes [2, 3] -> [8, 1] do not go with a weight of shape [4, 3]"
    )


@pytest.mark.parametrize("shape", [(2, 4, 4, 3), (1, 4, 4, 5)])
@pytest.mark.parametrize("code", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
def test_pooling_to_another_batch_or_channels(code, shape):
    assert refusal(code, [IMAGE], IMAGE(*shape), POOL) == (
        f"shapes [1, 4, 4, 3] -> {list(shape)}; batch and channels must be alike"
    )


def test_kernel_whose_padding_the_kernels_cannot_hold():
    table = options("Pool2DOptions", stride_h=1, stride_w=1, filter_height=2**15, filter_width=1)
    assert refusal("MAX_POOL_2D", [IMAGE], IMAGE, table) == (
        "kernel [32768, 1], strides [1, 1] and dilations [1, 1] must be at least 1 and reach over "
        "at most 32767 elements"
    )


def test_inputs_that_cannot_be_joined():
    table = options("ConcatenationOptions", axis=0)
    assert refusal("CONCATENATION", [X, X(2, 4)], X(4, 3), table) == (
        'inputs "t0" of shape [2, 3] and "t1" of shape [2, 4] cannot be joined along axis 0'
    )


def test_size_of_images_that_is_not_that_of_the_output():
    """Before anything of the size is made."""
    table = options("ResizeNearestNeighborOptions")
    assert refusal("RESIZE_NEAREST_NEIGHBOR", [IMAGE, int32(2**30, 2**30)], IMAGE, table) == (
        'output "t2" has shape [1, 4, 4, 3]; its size is given as [1073741824, 1073741824]'
    )


def test_padding_that_is_not_that_of_the_output():
    block, amounts = int32(1, 1), Constant(np.array([[2**31 - 1, 0], [0, 0]], np.int32))
    assert refusal("SPACE_TO_BATCH_ND", [IMAGE, block, amounts], IMAGE) == (
        'output "t3" has shape [1, 4, 4, 3]; axis 1 should have 2147483651 elements'
    )


def test_mode_of_padding():
    amounts = Constant(np.array([[0, 0], [1, 1]], np.int32))
    table = options("MirrorPadOptions", mode=7)
    assert refusal("MIRROR_PAD", [X, amounts], X(2, 5), table) == (
        "mode 7; supported: REFLECT (0), SYMMETRIC (1)"
    )


def test_no_addends():
    assert message_of(one_operator("ADD_N", [], [X])) == "the model has no inputs"
    graph = Graph()
    graph.input(X.shape, X.dtype, X.quantisation)
    y = graph.tensor(X.shape, X.dtype, X.quantisation)
    graph.operator("ADD_N", [], [y])
    graph.output(y)
    assert message_of(write_model(graph)) == 'operator 0 (ADD_N, output "t1"): input 0 is missing'


def test_counts_in_options():
    assert refusal("PACK", [X, X], X(2, 2, 3), options("PackOptions", values_count=3)) == (
        "2 inputs; its options say 3"
    )
    row = Spec((1, 3), 0.05, -7)
    assert refusal("UNPACK", [row], row(3), options("UnpackOptions", num=2)) == (
        "1 outputs; its options say 2"
    )


def test_options_of_another_operator():
    assert refusal("ADD", [X, X], X, options("PadOptions")) == (
        "it has options of type PadOptions, not AddOptions"
    )


def test_output_of_tvm_of_another_shape_than_the_file_says():
    assert refusal("ABS", [REAL], REAL(3, 2)) == (
        'output "t1" is float32[3, 2]; the inputs and options give float32[2, 3]'
    )


# ---- the file


def changed(change) -> str:
    content = one_operator("ADD", [X, Constant(np.ones((2, 3), np.int8), X.quantisation)], [X],
                           options("AddOptions"))  # fmt: skip
    return message_of(with_schema(content, lambda model: change(model.subgraphs[0])))


@pytest.mark.parametrize("index", [0, 1])
def test_results_that_are_something_else(index):
    def change(graph) -> None:
        graph.operators[0].outputs = [index]

    assert changed(change) == (
        f'the file is damaged: operator 0 writes tensor "t{index}", which is a constant, an input, '
        "or written before"
    )


@pytest.mark.parametrize("inputs", [[0, 0], [1]])
def test_inputs_that_are_something_else(inputs):
    def change(graph) -> None:
        graph.inputs = inputs

    assert changed(change) == (
        f'the file is damaged: the graph\'s input writes tensor "t{inputs[-1]}", which is a '
        "constant, an input, or written before"
    )


def test_one_tensor_as_two_outputs():
    def change(graph) -> None:
        graph.outputs = [2, 2]

    assert changed(change) == ('tensor "t2" is given as 2 outputs; make each a tensor of its own')


def test_tensor_that_is_too_large():
    assert message_of(one_operator("ABS", [Spec((2**20, 2**10, 2), 0.1, 0)], [X])) == (
        'tensor 0 ("t0") of shape [1048576, 1024, 2] takes 2147483648 bytes; at most 2147483647 '
        "are supported"
    )


def test_constant_of_int4_with_too_few_bytes():
    def change(model) -> None:
        model.subgraphs[0].tensors[1].shape = [4, 9]

    weight = Constant(np.ones((4, 3), np.int8), per_tensor(0.1), "int4")
    content = one_operator("FULLY_CONNECTED", [X, weight], [X(2, 4)], DENSE)
    assert message_of(with_schema(content, change)) == (
        'the file is damaged: tensor 1 ("t1") of shape [4, 9] takes 18 bytes, but 6 are stored'
    )


def test_intermediate_tensor_that_is_not_there():
    def change(graph) -> None:
        graph.operators[0].intermediates = [7]

    assert changed(change) == (
        "the file is damaged: operator 0 refers to tensor 7, and there are 3"
    )


def test_names_that_would_control_a_terminal():
    graph = Graph()
    x = graph.input((2, 3), "int8", name="a\n\x1b[2Jb")
    y = graph.tensor((2, 3), "int8", name="ü\u202e")
    graph.operator("ABS", [x], [y])
    graph.output(y)
    assert message_of(write_model(graph)) == (
        'operator 0 (ABS, output "ü\\u202e"): tensor "a\\n\\x1b[2Jb" has no scale and zero point'
    )


def test_a_refused_model_leaves_stderr_clean(tmp_path):
    """TVM reports, from C++, a function that is left half-built."""
    path = tmp_path / "model.tflite"
    path.write_bytes(one_operator("FLOOR", [X], [X]))
    script = (
        "import sys, usmp\ntry:\n    usmp.import_model(sys.argv[1])\n"
        "except usmp.UnsupportedModelError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, path], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert done.stdout.startswith(f'{path}: operator 0 (FLOOR, output "t1"): not supported')


def test_position_of_an_axis_of_nothing():
    empty = Spec((1, 4, 5, 3), 0.05, 0)
    numbers = [int32(0, 0, 4, 0), int32(0, 0, 0, 0), int32(1, 1, -2, -1)]
    table = options("StridedSliceOptions", begin_mask=11, end_mask=11, new_axis_mask=3)
    assert refusal("STRIDED_SLICE", [empty, *numbers], empty, table) == (
        'output "t4" is int8[1, 4, 5, 3]; the inputs and options give int8[1, 1, 0, 4, 5, 3]'
    )


def test_axis_without_end():
    assert refusal("SPLIT", [scalar(2), X], X, options("SplitOptions", num_splits=1)) == (
        "axis 2 of a tensor of 2 axes"
    )
