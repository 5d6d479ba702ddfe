"""Operators on int16 with weights or constants of int8, against the reference runtimes."""

from __future__ import annotations

import numpy as np
import pytest

import usmp
from support.micro import Micro
from support.quantized_models.model import Constant, Spec, one_operator
from support.tflite_builder import Options, options, per_channel
from support.tflite_refusals import refusal
from usmp.frontend.tflite.importer import import_tflite

ROWS = Spec((2, 3, 5), 0.0003, 0, "int16")
SUMS = Spec((2, 3, 4), 0.0041, 0, "int16")
WEIGHT = np.random.default_rng(1).integers(-127, 128, (4, 5), np.int8)
SCALES = [0.01, 0.023, 0.0071, 0.0312]


def matmul(*transposed: bool) -> Options:
    return options("BatchMatMulOptions", adj_x=transposed[0], adj_y=transposed[1])


@pytest.mark.models
def test_columns_with_a_scale_each_are_those_of_a_matrix_product():
    """LiteRT takes several scales of a BATCH_MATMUL to be 0, and gives zeros."""
    table = options("FullyConnectedOptions", fused_activation_function=0, keep_num_dims=True)
    product = one_operator(
        "FULLY_CONNECTED", [ROWS, Constant(WEIGHT, per_channel(SCALES, 0)), None], [SUMS], table
    )
    rows = Constant(WEIGHT, per_channel(SCALES, 0))
    columns = Constant(np.ascontiguousarray(WEIGHT.T), per_channel(SCALES, 1))
    module = usmp.build(
        {
            name: import_tflite(one_operator("BATCH_MATMUL", [ROWS, right], [SUMS], table))
            for name, right, table in (
                ("rows", rows, matmul(False, True)),
                ("columns", columns, matmul(False, False)),
            )
        }
    ).load()
    data = np.random.default_rng(2).integers(-(2**15), 2**15, ROWS.shape).astype(np.int16)
    expected = Micro(product).run({"t0": data})["t2"]
    assert len(np.unique(expected)) > 20
    for name in ("rows", "columns"):
        np.testing.assert_array_equal(module.run({"t0": data}, name)["t2"], expected)


@pytest.mark.parametrize(
    ("axis", "transposed"), [(0, (False, False)), (1, (False, True)), (1, (True, False))]
)
def test_scales_along_other_axes_than_columns(axis, transposed):
    square = Spec((4, 4), 0.0003, 0, "int16")
    right = Constant(np.ones((4, 4), np.int8), per_channel(SCALES, axis))
    assert refusal("BATCH_MATMUL", [square, right], square, matmul(*transposed)) == (
        f'input "t1" of shape [4, 4] has 4 scales along axis {axis}; supported: one scale, or one '
        "for each column of a single constant matrix, by which a matrix that is not transposed is "
        "multiplied"
    )


def test_matrix_of_int8_with_a_zero_point():
    right, output = Spec((5, 4), 0.01, 3), Spec((2, 3, 4), 0.0041, 0, "int16")
    assert refusal("BATCH_MATMUL", [ROWS, right], output, matmul(False, False)) == (
        "with int16, zero points are [0, 3, 0]; required: 0"
    )
