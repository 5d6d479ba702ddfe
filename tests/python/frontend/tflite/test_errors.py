"""What users often give the importer that it does not support, and what they are told."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from support.quantized_models.model import Constant, Spec, int32, one_operator, scalar
from support.tflite_builder import Graph, options, per_tensor, write_model
from support.tflite_refusals import message_of, refusal
from support.tflite_tables import with_schema
from usmp.frontend.tflite.converters import CONVERTERS

X = Spec((2, 3), 0.05, -7)
REAL = Spec((2, 3), 0, 0, "float32")
IMAGE = Spec((1, 4, 4, 3), 0.05, -7)
WEIGHT = Constant(np.ones((4, 3), np.int8), per_tensor(0.1))
DENSE = options("FullyConnectedOptions")
POOL = options("Pool2DOptions", padding=0, stride_h=1, stride_w=1, filter_height=1, filter_width=1)


# ---- operators


def test_operator_that_is_not_supported_on_integers():
    assert refusal("FLOOR", [X], X) == (
        "not supported on integers of 8 or 16 bits; compute it in float32, replace it, or end the "
        "model before it"
    )


def test_operator_of_a_newer_schema():
    content = one_operator(300, [X], [X])
    assert message_of(content) == (
        'operator 0 (300, output "t1"): it is a builtin operator of a newer schema than is known; '
        "convert the model with an older converter, or without the operator"
    )


CUSTOM = {
    "ethos-u": "Vela compiled the file for an Arm Ethos-U, and this operator is code of that NPU; "
    "give the .tflite file that was given to Vela",
    "edgetpu-custom-op": "edgetpu_compiler compiled the file for a Coral Edge TPU, and this "
    "operator is code of that TPU; give the .tflite file that was given to edgetpu_compiler",
    "FlexErf": "it is an operator of TensorFlow (SELECT_TF_OPS), which only TensorFlow itself "
    "computes; convert the model with TFLITE_BUILTINS alone, or end it before the operator",
    'A\x1b[2J"\n' + "b" * 300: "it is a custom operator, and the file does not say what it "
    "computes; replace it by builtin operators, or end the model before it",
}


@pytest.mark.parametrize("spec", [X, REAL], ids=["int8", "float32"])
@pytest.mark.parametrize("code", CUSTOM, ids=["vela", "edgetpu", "flex", "other"])
def test_custom_operators(code, spec):
    graph = Graph()
    x, y = (graph.tensor(spec.shape, spec.dtype, spec.quantization) for _ in range(2))
    graph.inputs.append(x)
    graph.operator("CUSTOM", [x], [y], custom_code=code)
    graph.output(y)
    called, name = message_of(write_model(graph)).split(', output "t1"): ')
    assert name == CUSTOM[code]
    assert called.startswith(f'operator 0 (CUSTOM "{code[:1]}')
    assert called.isprintable() and len(called) < 250


def test_memory_that_vela_gives_an_operator():
    """As a tensor that nothing writes."""
    graph = Graph()
    graph.input(X.shape, X.dtype, X.quantization)
    graph.tensor((64,), "uint8")
    graph.output(graph.tensor(X.shape, X.dtype, X.quantization))
    graph.operator("CUSTOM", [1, 0], [2], custom_code="ethos-u")
    assert message_of(write_model(graph)) == f'operator 0 (CUSTOM "ethos-u"): {CUSTOM["ethos-u"]}'


@pytest.mark.parametrize("code", ["IF", "WHILE"])
def test_control_flow_without_options(code):
    assert message_of(one_operator(code, [REAL], [REAL])) == (
        f"the file is damaged: the options of {code} do not say which subgraphs it runs"
    )


@pytest.mark.parametrize(
    ("code", "inputs", "message"),
    [
        ("COS", 2, "its inputs are 2 instead of 1"),
        ("ATAN2", 1, "its inputs are 1 instead of 2"),
        ("CONV_2D", 4, "its inputs are 4 instead of 2 to 3"),
        ("LEAKY_RELU", 1, "it has no options"),
    ],
)
def test_inputs_and_options_that_an_operator_cannot_have(code, inputs, message):
    assert refusal(code, [REAL] * inputs, REAL) == message


def test_what_a_converter_did_not_foresee_is_ours(monkeypatch):
    def convert(context, operator) -> None:
        raise KeyError("x")

    monkeypatch.setitem(CONVERTERS, "ABS", convert)
    assert refusal("ABS", [X], X) == (
        "its conversion failed, a fault in usmp, please report it: KeyError: 'x'"
    )


@pytest.mark.slow
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


@pytest.mark.parametrize("spec", [X, REAL], ids=["int8", "float32"])
def test_variable_tensor_that_is_read_before_it_is_written(spec):
    graph = Graph()
    x = graph.input(spec.shape, spec.dtype, spec.quantization)
    kept = graph.tensor(spec.shape, spec.dtype, spec.quantization, is_variable=True)
    y = graph.tensor(spec.shape, spec.dtype, spec.quantization)
    graph.operator("ADD", [x, kept], [y], options("AddOptions"))
    graph.output(y)
    assert message_of(write_model(graph)) == (
        'operator 0 (ADD, output "t2"): variable tensor "t1" is read before a recurrent operator '
        "has written it, which alone may read it first; keep what passes from run to run in "
        "variables (VAR_HANDLE), or make it an input and an output"
    )


def test_text():
    words = Spec((2,), 0, 0, "string")
    assert message_of(one_operator("HASHTABLE_FIND", [words], [REAL])) == (
        'tensor "t0" holds text (type STRING), and only numbers can be planned; turn text into '
        "numbers in the application, and begin the model there"
    )


def test_operators_of_the_schema_that_are_refused():
    assert refusal("WHERE", [REAL], Spec((6, 2), 0, 0, "int64")) == (
        "not supported: how many elements it finds depends on the data, and memory is planned at "
        "compile time; use SELECT_V2 (tf.where with three arguments), or end the model before it "
        "and find them in the application"
    )


# ---- shapes and options


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
        "kernel [32768, 1], strides [1, 1] and dilations [1, 1] must reach over at most 32767 "
        "elements"
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
    graph.input(X.shape, X.dtype, X.quantization)
    y = graph.tensor(X.shape, X.dtype, X.quantization)
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


# ---- the file


def changed(change) -> str:
    content = one_operator("ADD", [X, Constant(np.ones((2, 3), np.int8), X.quantization)], [X],
                           options("AddOptions"))  # fmt: skip
    return message_of(with_schema(content, lambda model: change(model.subgraphs[0])))


@pytest.mark.models
@pytest.mark.parametrize("index", [0, 1])
def test_results_that_are_something_else(index):
    def change(graph) -> None:
        graph.operators[0].outputs = [index]

    assert changed(change) == (
        f'the file is damaged: operator 0 writes tensor "t{index}", which is a constant, an input, '
        "or written before"
    )


@pytest.mark.models
@pytest.mark.parametrize("inputs", [[0, 0], [1]])
def test_inputs_that_are_something_else(inputs):
    def change(graph) -> None:
        graph.inputs = inputs

    assert changed(change) == (
        f'the file is damaged: the graph\'s input writes tensor "t{inputs[-1]}", which is a '
        "constant, an input, or written before"
    )


def test_tensor_that_is_too_large():
    assert message_of(one_operator("ABS", [Spec((2**20, 2**10, 2), 0.1, 0)], [X])) == (
        'tensor 0 ("t0") of shape [1048576, 1024, 2] takes 2147483648 bytes; at most 2147483647 '
        "are supported"
    )


@pytest.mark.models
def test_constant_of_int4_with_too_few_bytes():
    def change(model) -> None:
        model.subgraphs[0].tensors[1].shape = [4, 9]

    weight = Constant(np.ones((4, 3), np.int8), per_tensor(0.1), "int4")
    content = one_operator("FULLY_CONNECTED", [X, weight], [X(2, 4)], DENSE)
    assert message_of(with_schema(content, change)) == (
        'the file is damaged: tensor 1 ("t1") of shape [4, 9] takes 18 bytes, but 6 are stored'
    )


@pytest.mark.models
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
