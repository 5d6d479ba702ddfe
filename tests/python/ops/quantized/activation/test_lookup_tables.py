"""Functions of one integer, at every integer, against what tflite-micro computes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.joined_models import joined, part_of
from support.micro import Micro
from support.quantized_models.model import Spec, one_operator
from support.tflite_builder import Options, options
from usmp.frontend.tflite.importer import import_tflite

INT8 = np.arange(-128, 128).astype(np.int8)
INT16 = np.arange(-(2**15), 2**15).astype(np.int16)
LOGISTIC, TANH = (1 / 256, -128), (1 / 128, 0)
SCALES = [0.0001, 0.004, 0.0173, 0.05, 0.125, 0.31, 2.0]
ZERO_POINTS = [-128, -7, 0, 90, 127]


def assert_equals_real(code: str, x: Spec, y: Spec, function) -> None:
    """The 8-bit integers nearest to a function of real numbers."""
    values = np.arange(*(np.array([0, 256]) + np.iinfo(x.dtype).min)).astype(x.dtype)
    content = one_operator(code, [x], [y])
    ours = usmp.build(import_tflite(content)).run({"t0": values})["t1"]
    real = function(x.scale * (values.astype(float) - x.zero_point)) / y.scale + y.zero_point
    limits = np.iinfo(y.dtype)
    assert np.abs(ours - np.clip(real, limits.min, limits.max)).max() < 0.501


def assert_equals_micro(code: str, cases: Iterable[tuple[Spec, Spec, Options | None]]) -> None:
    """Models of one operator, each with its input, output and options, are one program."""
    tried = {f"m{number}": case for number, case in enumerate(cases)}
    contents = {n: one_operator(code, [x], [y], table) for n, (x, y, table) in tried.items()}
    with PassContext(disabled_pass=["StreamOperators", "OrderOperators"]):
        module = usmp.build(import_tflite(joined(contents))).load()
    inputs = {
        f"{name}/t0": (INT8 if x.dtype == "int8" else INT16).reshape(x.shape)
        for name, (x, _, _) in tried.items()
    }
    outputs = module.run(inputs)
    others = []
    for name, content in contents.items():
        expected = Micro(content).run(part_of(inputs, name))["t1"]
        if not np.array_equal(part_of(outputs, name)["t1"], expected):
            others.append(tried[name])
    assert others == []


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize(("code", "output"), [("LOGISTIC", LOGISTIC), ("TANH", TANH)])
def test_sigmoids_of_int8(code, output):
    y = Spec((256,), *output)
    cases = product(SCALES, ZERO_POINTS)
    assert_equals_micro(code, [(Spec((256,), *each), y, None) for each in cases])


@pytest.mark.cc
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_sigmoids_with_another_output(dtype):
    zero_point = 3 - np.iinfo("int8").min * (dtype == "uint8")
    x, y = Spec((256,), 0.03, zero_point, dtype), Spec((256,), 0.011, zero_point, dtype)
    assert_equals_real("LOGISTIC", x, y, lambda v: 1 / (1 + np.exp(-v)))
    assert_equals_real("TANH", x, y, np.tanh)


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("code", ["LOGISTIC", "TANH"])
def test_sigmoids_of_int16(code):
    y = Spec((2**16,), 1 / 32768, 0, "int16")
    scales = [1e-6, 1 / 8192, 1 / 4096, 1 / 2048, 0.0003, 0.01, 1.3]
    assert_equals_micro(code, [(Spec((2**16,), s, 0, "int16"), y, None) for s in scales])


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("code", ["ELU", "HARD_SWISH"])
def test_curves_of_int8(code):
    cases = [
        (Spec((256,), scale, zero), Spec((256,), scale * 0.9, -zero // 2), None)
        for scale, zero in product([0.004, 0.0173, 0.05, 0.31], ZERO_POINTS)
    ]
    assert_equals_micro(code, cases)


@pytest.mark.slow
@pytest.mark.models
def test_lines_of_int8():
    cases = [
        (
            Spec((256,), 0.05, zero),
            Spec((256,), 0.05 * ratio, -zero // 2),
            options("LeakyReluOptions", alpha=alpha),
        )
        for alpha, ratio, zero in product([0.1, -0.3, 2.5], [0.003, 0.9, 40], ZERO_POINTS)
    ]
    assert_equals_micro("LEAKY_RELU", cases)


@pytest.mark.models
def test_inverse_square_roots():
    y = Spec((256,), 0.02, -100)
    cases = [(Spec((256,), scale, -128), y, None) for scale in (0.004, 0.05, 0.7)]
    assert_equals_micro("RSQRT", cases)


@pytest.mark.models
@pytest.mark.parametrize(
    ("code", "table"),
    [("RELU", None), ("ABS", None), ("LEAKY_RELU", options("LeakyReluOptions", alpha=0.3))],
)
def test_lines_of_int16(code, table):
    """So many values tell a ratio in single precision from one in double precision."""
    scales = [(0.0003, 0.00031), (0.00071, 0.0002), (1e-4, 0.3)]
    cases = [[Spec((2**16,), scale, 0, "int16") for scale in each] for each in scales]
    assert_equals_micro(code, [(x, y, table) for x, y in cases])
