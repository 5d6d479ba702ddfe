"""Operators on int16 with weights or constants of int8, against the reference runtimes."""

from __future__ import annotations

import numpy as np
import pytest

import usmp
from support.litert import Reference
from support.micro import Micro
from support.quantized_models.model import Constant, Spec, one_operator
from support.tflite_builder import Options, options, per_channel
from support.tflite_refusals import refusal
from usmp.frontend.tflite.importer import import_tflite

ROWS = Spec((2, 3, 5), 0.0003, 0, "int16")
SUMS = Spec((2, 3, 4), 0.0041, 0, "int16")
WEIGHT = np.random.default_rng(1).integers(-127, 128, (4, 5), np.int8)
SCALES = [0.01, 0.023, 0.0071, 0.0312]
ALL = np.arange(-(2**15), 2**15).astype(np.int16)
POSITIVE = np.arange(2**15).astype(np.int16)


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


@pytest.mark.models
def test_product_of_scales_in_single_precision():
    """These scales tell it from one in double precision."""
    left, right = Spec((20, 4), 0.0002184179611504078, 0, "int16"), Spec((4, 20), 0.000664304592646)
    output = Spec((20, 20), 0.0007622546399543931, 0, "int16")
    content = one_operator("BATCH_MATMUL", [left, right], [output], matmul(False, False))
    generator = np.random.default_rng(5)
    inputs = {
        "t0": generator.integers(-(2**15), 2**15, left.shape).astype(np.int16),
        "t1": generator.integers(-128, 128, right.shape).astype(np.int8),
    }
    expected = Reference(content).run(inputs)["t2"]
    np.testing.assert_array_equal(usmp.build(import_tflite(content)).run(inputs)["t2"], expected)


@pytest.mark.models
def test_quotients():
    """The ratio of the scales, in single precision, is another one than in double precision."""
    scales = (6.910199590492994e-05, 0.000770518614445, 0.0003294300695415586)
    x, y, output = (Spec((2**16,), scale, 0, "int16") for scale in scales)
    table = options("DivOptions", fused_activation_function=0)
    content = one_operator("DIV", [x, y], [output], table)
    divisors = np.random.default_rng(6).integers(1, 300, 2**16) * np.array([1, -1]).repeat(2**15)
    inputs = {"t0": ALL, "t1": divisors.astype(np.int16)}
    ours = usmp.build(import_tflite(content)).run(inputs)["t2"]
    np.testing.assert_array_equal(ours, Reference(content).run(inputs)["t2"])


def test_quotients_that_leave_the_kernels():
    x = Spec((2,), 0.5**15, 0, "int16")
    assert refusal("DIV", [x, x], x, options("DivOptions", fused_activation_function=0)) == (
        "a quotient of 1 is 32768.0 steps of the output; less than 2**15 are supported"
    )


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


CURVES = [
    ("EXP", ALL, 0.0002, 0.0101),
    ("EXP", ALL, 0.0012, 3e-6),
    ("LOG", ALL, 0.00031, 0.0003),
    ("LOG", ALL, 0.011, 0.0001),
    ("SQRT", POSITIVE, 0.0031, 0.00027),
    ("RSQRT", POSITIVE, 0.00052, 0.0012),
    ("RSQRT", POSITIVE, 0.0005, 3e-5),
]
"""Operator, elements, scales of input and output. At a great scale, the slope of LOG at 0 leaves 16
bits, of which LiteRT keeps the lower ones."""


@pytest.mark.slow
@pytest.mark.models
def test_curves():
    contents = {}
    for number, (code, values, before, after) in enumerate(CURVES):
        x, y = (Spec(values.shape, scale, 0, "int16") for scale in (before, after))
        contents[f"{code}_{number}"] = one_operator(code, [x], [y])
    module = usmp.build({name: import_tflite(model) for name, model in contents.items()}).load()
    for (name, content), (code, values, _, _) in zip(contents.items(), CURVES, strict=True):
        reference = Micro if code == "RSQRT" else Reference
        expected = reference(content).run({"t0": values})["t1"]
        assert len(np.unique(expected)) > 100
        np.testing.assert_array_equal(module.run({"t0": values}, name)["t1"], expected)


def test_curves_that_leave_floats():
    x, y = Spec((2,), 0.01, 0, "int16"), Spec((2,), 1e-5, 0, "int16")
    assert refusal("EXP", [x], y) == (
        "at 76.15384674072266, within an input of scale 0.009999999776482582, the result is "
        "1.1835920804548074e+38 steps of scale 9.999999747378752e-06; less than "
        "8.507059173023462e+37 are supported"
    )


def test_gelu_is_refused():
    assert refusal("GELU", [ROWS], ROWS, options("GeluOptions", approximate=True)) == (
        "on int16 its results depend on the C library that computes LiteRT's table; compute it on "
        "int8 or float32"
    )


@pytest.mark.slow
@pytest.mark.models
def test_comparisons_of_neighbors():
    """Equality is of real numbers with 8 bits below the point, also in one scale; the order is that
    of what is stored, also in two."""
    cases = [
        (code, dtype, scales)
        for code in ("EQUAL", "NOT_EQUAL", "LESS", "GREATER_EQUAL")
        for dtype, scales in (
            ("int16", (0.001, 0.001)),
            ("int16", (0.0003, 0.0006)),
            ("uint8", (0.0021, 0.0021)),
            ("uint8", (0.03, 0.06)),
        )
    ]
    contents, inputs = {}, {}
    generator = np.random.default_rng(3)
    for number, (code, dtype, scales) in enumerate(cases):
        zero_point = 100 if dtype == "uint8" else 0
        pair = [Spec((500,), scale, zero_point, dtype) for scale in scales]
        contents[f"m{number}"] = one_operator(code, pair, [Spec((500,), 0, 0, "bool")])
        low, high = zero_point - 20, zero_point + 20
        inputs[f"m{number}"] = {
            name: generator.integers(low, high, 500).astype(dtype) for name in ("t0", "t1")
        }
    module = usmp.build({name: import_tflite(model) for name, model in contents.items()}).load()
    for name, content in contents.items():
        expected = Reference(content).run(inputs[name])["t2"]
        assert 0 < expected.sum() < 500
        np.testing.assert_array_equal(module.run(inputs[name], name)["t2"], expected)
