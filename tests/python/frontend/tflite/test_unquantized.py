"""Operators on numbers without scales compute what TFLite's kernels do."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

import usmp
from support.operator_trials.tflite.draw import Model, describe, trial
from support.operator_trials.trial import outcome
from support.quantized_models.model import Constant, Spec, int32, one_operator, scalar
from support.tflite_builder import Options, options
from support.tflite_refusals import refusal
from usmp.frontend.tflite.importer import import_tflite

REDUCER = options("ReducerOptions", keep_dims=False)
ARG = options("ArgMinOptions", output_type=2)
WINDOW = {"padding": 1, "stride_h": 1, "stride_w": 1, "filter_height": 1, "filter_width": 1}
REAL = Spec((2, 3), 0, 0, "float32")
LONG = Spec((), 0, 0, "int64")
DENSE = options("FullyConnectedOptions")
WEIGHT = Constant(np.linspace(-2, 3, 24, dtype=np.float32).reshape(4, 6))


def real(*shape: int) -> Spec:
    return Spec(shape, 0, 0, "float32")


def whole(*shape: int, dtype: str = "int32") -> Spec:
    return Spec(shape, 0, 0, dtype)


def of_softmax(shape: Sequence[int], beta: float) -> tuple:
    x = real(*shape)
    return "SOFTMAX", [x], x, options("SoftmaxOptions", beta=beta)


CASES = {
    "softmax_beta": of_softmax((2, 5), 0.3),
    "softmax_five_axes": of_softmax((2, 1, 3, 2, 4), 1.0),
    "softmax_five_axes_beta": of_softmax((2, 1, 3, 2, 4), 2.5),
    "gelu_approximate": ("GELU", [REAL], REAL, options("GeluOptions", approximate=True)),
    "gelu": ("GELU", [REAL], REAL, options("GeluOptions", approximate=False)),
    "mean_int32": ("MEAN", [whole(4, 5), int32(1)], whole(4), REDUCER),
    "mean_int64": (
        "MEAN",
        [whole(4, 5, dtype="int64"), int32(0)],
        whole(5, dtype="int64"),
        REDUCER,
    ),
    "arg_max_int32": (
        "ARG_MAX",
        [real(3, 4), scalar(1)],
        whole(3),
        options("ArgMaxOptions", output_type=2),
    ),
    # Extremes are among the inputs: every element is the greatest.
    "arg_min_of_the_greatest": ("ARG_MIN", [whole(2, 3), scalar(0)], whole(3), ARG),
    "floor_mod": ("FLOOR_MOD", [real(7, 9), Constant(np.float32([0.3]))], real(7, 9), None),
    "squared_difference_int32": (
        "SQUARED_DIFFERENCE",
        [whole(3, 4), whole(4)],
        whole(3, 4),
        None,
    ),
    "backwards_of_int16": (
        "REVERSE_SEQUENCE",
        [Spec((3, 4, 2), 0.1, 0, "int16"), int32(0, 3, 4)],
        Spec((3, 4, 2), 0.1, 0, "int16"),
        options("ReverseSequenceOptions", seq_dim=1, batch_dim=0),
    ),
    "cumsum": (
        "CUMSUM",
        [real(3, 4), scalar(-1)],
        real(3, 4),
        options("CumsumOptions", exclusive=True, reverse=True),
    ),
    "sum_over_repeated_axes": ("SUM", [real(3, 4), int32(1, -1)], real(3), REDUCER),
    "reduce_any": (
        "REDUCE_ANY",
        [whole(3, 4, dtype="bool"), int32(0, 0)],
        whole(4, dtype="bool"),
        REDUCER,
    ),
    "matmul_of_transposed": (
        "BATCH_MATMUL",
        [real(2, 1, 4), real(2, 1, 5)],
        real(2, 4, 5),
        options("BatchMatMulOptions", adj_x=True, adj_y=False),
    ),
    "dense_of_rows_across_axes": (
        "FULLY_CONNECTED",
        [real(2, 2, 3), WEIGHT, Constant(np.float32([1, -2, 3, -4]))],
        real(2, 1, 4),
        options("FullyConnectedOptions", keep_num_dims=True, fused_activation_function=3),
    ),
    "dense_of_one_row": ("FULLY_CONNECTED", [real(1, 1, 6), WEIGHT], real(4), DENSE),
    "wide_constant": (
        "MAXIMUM",
        [LONG(2, 3), Constant(np.array([2**40, 5, -(2**50)]))],
        LONG(2, 3),
        None,
    ),
    "resize_to_one_row_with_corners": (
        "RESIZE_BILINEAR",
        [real(2, 3, 4, 2), int32(1, 7)],
        real(2, 1, 7, 2),
        options("ResizeBilinearOptions", align_corners=True, half_pixel_centers=False),
    ),
    # Types that are not quantized may have a scale all the same; it means nothing.
    "scale_of_float": ("RELU", [Spec((2, 3), 0.1, 0, "float32")], REAL, None),
    "scale_of_int32": ("ABS", [Spec((2, 3), 0.1, 3, "int32")], whole(2, 3), None),
}


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("name", CASES)
def test_it_computes_what_the_kernel_computes(name):
    code, inputs, output, table = CASES[name]
    model = Model(inputs, [output], table)
    content = one_operator(code, inputs, [output], table)
    result = outcome(trial(code, content, describe(model), model, Random(name)), ("-O0",))
    assert result.is_compared, result


@pytest.mark.cc
def test_nan_is_no_extreme():
    table = options("ArgMaxOptions", output_type=2)
    content = one_operator("ARG_MAX", [real(5), scalar(0)], [whole()], table)
    x = np.array([-np.inf, 2, np.nan, 7, 7], np.float32)
    assert usmp.build(import_tflite(content)).run({"t0": x})["t2"] == 3


REFUSED: dict[str, tuple[str, list, Spec, Options | None, str]] = {
    "tanh": (
        "ADD",
        [REAL, REAL],
        REAL,
        options("AddOptions", fused_activation_function=4),
        "fused activation TANH is not supported, and TFLite's kernels leave it out; make it an "
        "operator of its own. Supported: NONE, RELU, RELU_N1_TO_1, RELU6",
    ),
    "sign_bit": (
        "MAX_POOL_2D",
        [real(1, 2, 2, 1)],
        real(1, 2, 2, 1),
        options("Pool2DOptions", **WINDOW, fused_activation_function=5),
        "fused activation SIGN_BIT is not supported, and TFLite's kernels leave it out; make it an "
        "operator of its own. Supported: NONE, RELU, RELU_N1_TO_1, RELU6",
    ),
    "activation_of_l2": (
        "L2_NORMALIZATION",
        [REAL],
        REAL,
        options("L2NormOptions", fused_activation_function=1),
        "fused activation RELU is not supported; supported: NONE",
    ),
    "broadcast_atan2": (
        "ATAN2",
        [REAL, real(3)],
        REAL,
        None,
        'input "t0" has shape [2, 3] and output "t1" has shape [3]; they must be the same',
    ),
    "shapes_that_do_not_go_together": (
        "ADD",
        [REAL, real(2, 4)],
        REAL,
        options("AddOptions"),
        "inputs of shapes [2, 3] and [2, 4] do not go together",
    ),
    "slopes_that_do_not_go_with_the_data": (
        "PRELU",
        [REAL, real(4)],
        REAL,
        None,
        "slopes of shape [4] do not go with data of [2, 3]",
    ),
    "type_without_kernel": (
        "RELU",
        [whole(2, 3)],
        whole(2, 3),
        None,
        'input "t0" is of type int32; supported: float32',
    ),
    **{
        f"{name.lower()}_of_{dtype}_by_zero": (
            name,
            [whole(3, dtype=dtype), Constant(np.array([2, 0, -1], dtype))],
            whole(3, dtype=dtype),
            options("DivOptions") if name == "DIV" else None,
            'input "t1" has a 0, by which the kernels divide no integer; replace it by another '
            "number, or divide float32",
        )
        for name, dtype in (("DIV", "int32"), ("FLOOR_DIV", "int32"), ("FLOOR_MOD", "int64"))
    },
    "floor_mod_of_bytes_by_zero": (
        "FLOOR_MOD",
        [Spec((3,), 0.1, 0), Constant(np.array([2, 0, -1], np.int8))],
        Spec((3,), 0.1, 0),
        None,
        'input "t1" has a 0, by which the kernels divide no integer; replace it by another '
        "number, or divide float32",
    ),
    "never_compared": (
        "LOCAL_RESPONSE_NORMALIZATION",
        [real(1, 2, 2, 4)],
        real(1, 2, 2, 4),
        options("LocalResponseNormalizationOptions"),
        "not supported: TFLite's kernel leaves out the last channel of each sum; use batch "
        "normalization, or write it with SQUARE, CONV_2D, POW and DIV",
    ),
    "position_outside": (
        "SCATTER_ND",
        [Constant(np.array([[0, 2], [1, 3]], np.int32)), real(2), int32(2, 3)],
        REAL,
        options("ScatterNdOptions"),
        "index 3 is outside of axis 1, which has 3 elements; indices from 0 to 2 are inside",
    ),
    "updates_of_another_shape": (
        "SCATTER_ND",
        [Constant(np.array([[0, 2]], np.int32)), real(2), int32(2, 3)],
        REAL,
        options("ScatterNdOptions"),
        'the updates "t1" has shape [2]; it should be [1]',
    ),
    "segments_with_a_gap": (
        "SEGMENT_SUM",
        [real(3, 2), int32(0, 0, 2)],
        real(3, 2),
        None,
        "the segments do not count up from 0, each the same as or one more than that before it",
    ),
    "segment_outside": (
        "UNSORTED_SEGMENT_SUM",
        [real(3, 2), int32(0, -1, 4), scalar(4)],
        real(4, 2),
        None,
        "segment 4 is outside of 4 segments; those from 0 to 3 are inside, and negative ones are "
        "left out",
    ),
    **{
        f"{count}_segments": (
            "UNSORTED_SEGMENT_MAX",
            [real(2), int32(-1, -1), scalar(count)],
            real(0),
            None,
            f"{count} segments; at least 1 is supported",
        )
        for count in (0, -1)
    },
    "several_numbers_of_segments": (
        "UNSORTED_SEGMENT_MIN",
        [real(2), int32(0, 1), int32(3, 3)],
        real(3),
        None,
        'the number of segments "t2" has shape [2]; it should be one number',
    ),
    "computed_number_of_segments": (
        "UNSORTED_SEGMENT_PROD",
        [real(2), int32(0, 1), whole(1)],
        real(3),
        None,
        'input 2, "t2", is computed; only a constant is supported',
    ),
    "no_number_of_segments": (
        "UNSORTED_SEGMENT_PROD",
        [real(2), int32(0, 1)],
        real(3),
        None,
        "input 2 is missing",
    ),
    "segments_of_other_axes": (
        "UNSORTED_SEGMENT_SUM",
        [real(2, 3), int32(0, 1, 2), scalar(3)],
        real(3, 3),
        None,
        'the segments "t1" has shape [3]; it should be [2]',
    ),
    "segments_of_more_axes": (
        "UNSORTED_SEGMENT_SUM",
        [real(2), whole(2, 1), scalar(3)],
        real(3),
        None,
        'the segments "t1" has shape [2, 1]; it should be [2]',
    ),
    "long_segments": (
        "UNSORTED_SEGMENT_SUM",
        [real(2), whole(2, dtype="int64"), scalar(3)],
        real(3),
        None,
        'the segments "t1" is of type int64; supported: int32',
    ),
    "long_number_of_segments": (
        "UNSORTED_SEGMENT_SUM",
        [real(2), int32(0, 1), Constant(np.array(3))],
        real(3),
        None,
        'the number of segments "t2" is of type int64; supported: int32',
    ),
    "segments_of_long_integers": (
        "UNSORTED_SEGMENT_SUM",
        [whole(2, dtype="int64"), int32(0, 1), scalar(3)],
        whole(3, dtype="int64"),
        None,
        'input "t0" is of type int64; supported: float32, int32',
    ),
    "segments_of_bytes": (
        "UNSORTED_SEGMENT_SUM",
        [Spec((2,), 0.1, 0), int32(0, 1), scalar(3)],
        Spec((3,), 0.1, 0),
        None,
        "not supported on integers of 8 or 16 bits; compute it in float32, replace it, or end the "
        "model before it",
    ),
    "too_many_segments": (
        "UNSORTED_SEGMENT_SUM",
        [real(2), int32(0, 1), scalar(2**31 - 1)],
        real(3),
        None,
        "a tensor of shape [2147483647] takes 8589934588 bytes; a tensor may take 268435456, which "
        "--max-model-bytes (in Python max_model_bytes) can raise",
    ),
    "other_number_of_segments": (
        "UNSORTED_SEGMENT_SUM",
        [real(2), int32(0, 1), scalar(4)],
        real(3),
        None,
        'output "t3" is float32[3]; the inputs and options give float32[4]',
    ),
    "segments_of_another_type": (
        "UNSORTED_SEGMENT_SUM",
        [real(2), int32(0, 1), scalar(3)],
        whole(3),
        None,
        'output "t3" is int32[3]; the inputs and options give float32[3]',
    ),
    "bits_of_float16": (
        "BITCAST",
        [whole(2, dtype="float16")],
        whole(2, dtype="int16"),
        None,
        'input "t0" is of type float16; supported: float32, float64, int8, uint8, int16, uint16, '
        "int32, uint32, int64, uint64, bool",
    ),
    "bits_as_truth_values": (
        "BITCAST",
        [whole(2, dtype="uint8")],
        whole(2, dtype="bool"),
        None,
        'output "t1" is of type bool; supported: float32, float64, int8, uint8, int16, uint16, '
        "int32, uint32, int64, uint64",
    ),
    "bits_of_half_an_element": (
        "BITCAST",
        [whole(4, 2, dtype="int16")],
        whole(4, dtype="int64"),
        None,
        'input "t0" is int16[4, 2]; 4 elements on its last axis make one of int64',
    ),
    "bits_of_one_byte": (
        "BITCAST",
        [whole(dtype="uint8")],
        whole(),
        None,
        'input "t0" is uint8[]; 4 elements on its last axis make one of int32',
    ),
    "bits_in_another_shape": (
        "BITCAST",
        [whole(2)],
        whole(2, dtype="int8"),
        None,
        'output "t1" is int8[2]; the inputs and options give int8[2, 4]',
    ),
    "operands_that_do_not_go_together": (
        "FLOOR_MOD",
        [REAL, real(2)],
        REAL,
        None,
        "inputs of shapes [2, 3] and [2] do not go together",
    ),
    "dense_of_half_a_row": (
        "FULLY_CONNECTED",
        [real(1, 9), WEIGHT],
        real(1, 4),
        DENSE,
        "shapes [1, 9] -> [1, 4] do not go with a weight of shape [4, 6]",
    ),
    "dense_of_more_outputs_than_rows": (
        "FULLY_CONNECTED",
        [real(2, 6), WEIGHT],
        real(1, 4),
        DENSE,
        "shapes [2, 6] -> [1, 4] do not go with a weight of shape [4, 6]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    code, inputs, output, table, message = REFUSED[name]
    assert refusal(code, inputs, output, table) == message
