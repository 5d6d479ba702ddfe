"""Operators that overwrite what they have read compute the same, however they are built.

`benchmarks/overlap_matrix.py` does it for every model and in every way; here are as many of each as
there is time for.
"""

from __future__ import annotations

import pytest

from support.built_ways import (
    ALL,
    DISJOINT,
    OBJECT_FILE,
    POISONED,
    POISONED_OBJECT_FILE,
    Matrix,
    Way,
    available,
    model_of_suite,
    real_model,
)
from support.c_program import SANITIZERS, sanitizing_compiler
from support.quantized_models import CATALOG
from usmp.planning.session import planning_session

pytestmark = pytest.mark.models

GCC, CLANG = Way(poison=True, flags=("-O3",)), Way(compiler="clang", flags=("-O3",))
SMALL = [
    "mlperf_ad01_int8",
    "mlperf_kws_int8",
    "mlperf_strww_int8",
    "mww_okay_nabu_v2_int8",
    "tflm_mnist_lstm_int8",
    "coral_split_concat",
]
FLOAT = ["mlperf_ad01_float", "mlperf_resnet8_float", "mobilenet_v1_025_128_float"]
OTHER_TYPE = [
    "cast_int32_to_float",
    "cast_int32_to_int8",
    "cast_int8_to_int32",
    "dequantize_int8",
    "dequantize_int16",
    "quantize_float_to_int8",
    "quantize_int16_to_int32",
]
"""Models of one operator whose output has another type than the input that it overwrites."""
SUITE = [m for m in CATALOG[::60] if m.name not in OTHER_TYPE]


@pytest.fixture(autouse=True)
def session_of_a_test():
    """Share what the builds of one test lower and plan alike: one model a test."""
    with planning_session():
        yield


def saved_bytes(matrix: Matrix) -> int:
    """By how much the workspace is smaller because buffers overlap."""
    sizes = [matrix.factory(way).interface.workspace_size_bytes for way in (DISJOINT, POISONED)]
    return sizes[0] - sizes[1]


def test_digits_in_every_way(digits_model):
    matrix, expected = real_model(digits_model, 5)
    assert saved_bytes(matrix) > 0
    assert matrix.failures(available(ALL), expected) == []


@pytest.mark.parametrize("name", SMALL)
def test_small_models(shared_model, name):
    matrix, expected = real_model(shared_model(name), 5)
    sanitised = Way(poison=True, compiler=sanitizing_compiler(), flags=tuple(SANITIZERS))
    ways = [GCC, sanitised, POISONED_OBJECT_FILE]
    assert matrix.failures(available(ways), expected) == []


def test_a_large_model(shared_model):
    matrix, expected = real_model(shared_model("mlperf_resnet8_int8"), 2)
    assert saved_bytes(matrix) > 0
    assert matrix.failures([GCC], expected) == []


@pytest.mark.parametrize("name", FLOAT)
def test_float_models(shared_model, name):
    """The bytes that they compute without overlap."""
    matrix, expected = real_model(shared_model(name), 1)
    assert matrix.failures([GCC], expected) == []


@pytest.mark.parametrize("name", OTHER_TYPE)
def test_inputs_overwritten_by_another_type(name):
    (model,) = [model for model in CATALOG if model.name == name]
    matrix, expected = model_of_suite(model, 5)
    assert saved_bytes(matrix) > 0
    assert matrix.failures(available([GCC, CLANG, OBJECT_FILE]), expected) == []


@pytest.mark.parametrize("model", SUITE, ids=[model.name for model in SUITE])
def test_models_of_one_operator(model):
    matrix, expected = model_of_suite(model, 5)
    assert matrix.failures(available([GCC, CLANG, OBJECT_FILE]), expected) == []
