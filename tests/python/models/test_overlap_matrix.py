"""Operators that overwrite what they have read compute the same, however they are built.

`benchmarks/overlap_matrix.py` does it for every model and in every way; here are as many of each as
there is time for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.built_ways import (
    DISJOINT,
    LEVELS,
    OBJECT_FILE,
    POISONED,
    POISONED_OBJECT_FILE,
    SANITISED,
    Matrix,
    Way,
    available,
    oracle,
    real_model,
)
from support.c_program import SANITIZERS, sanitizing_compiler
from support.imported_models import imported
from support.joined_models import joined, part_of, subgraphs_of
from support.levels import number, sample
from support.quantized_models import CATALOG, QuantizedModel
from support.small_digits import small_convolutions
from support.tflite_tensors import extreme_inputs, graph_tensors, random_inputs
from usmp.frontend.tflite.importer import import_tflite
from usmp.planning.session import planning_session

pytestmark = pytest.mark.models

GCC, CLANG = Way(poison=True, flags=("-O3",)), Way(compiler="clang", flags=("-O3",))
LONG = ["tflm_mnist_lstm_int8", "mlperf_kws_int8", "mlperf_strww_int8", "mww_okay_nabu_v2_int8"]
SMALL = [
    "tflm_hello_world_float",
    *sample(["coral_split_concat", "mlperf_ad01_int8"], 1),
    *LONG[: number(0, 4)],
]
"""References round floats in their own way, so float models have the bytes of disjoint buffers."""
LARGE = ["mlperf_resnet8_int8", "mlperf_resnet8_float", "mobilenet_v1_025_128_float"]
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
AT_ONCE = [replace(way, proof=False, interleave=False) for way in (GCC, CLANG, OBJECT_FILE)]
"""How models of one operator are built, side by side."""


@pytest.fixture(autouse=True)
def session_of_a_test():
    """Share what the builds of one test lower and plan alike: one model a test."""
    with planning_session():
        yield


def saved_bytes(matrix: Matrix) -> int:
    """By how much the workspace is smaller because buffers overlap."""
    sizes = [matrix.factory(way).interface.workspace_size_bytes for way in (DISJOINT, POISONED)]
    return sizes[0] - sizes[1]


def side_by_side(models: list[QuantizedModel], count: int) -> tuple[Matrix, bytes]:
    """Models in one, and what they must compute from random and extreme inputs."""
    contents = {model.name: model.make() for model in models}
    whole = joined(contents)
    tensors, _ = graph_tensors(whole)
    runs = [*(random_inputs(tensors, seed) for seed in range(count)), *extreme_inputs(tensors)]
    results: list[dict[str, np.ndarray]] = [{} for _ in runs]
    for model in models:
        reference = oracle(model)
        for result, inputs in zip(results, runs, strict=True):
            outputs = reference.run(part_of(inputs, model.name))
            result |= {f"{model.name}/{name}": np.array(v) for name, v in outputs.items()}
    matrix = Matrix(import_tflite(whole), runs)
    return matrix, matrix.expected(results)


@pytest.mark.slow
def test_convolutions_in_every_way(tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(small_convolutions())
    matrix, expected = real_model(path, 5)
    assert saved_bytes(matrix) > 0
    ways = [DISJOINT, POISONED, *sample(LEVELS, 1), *sample(SANITISED, 1), POISONED_OBJECT_FILE]
    assert matrix.failures(available(ways), expected) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_small_models(shared_model, name):
    matrix, expected = real_model(shared_model(name), 5)
    sanitised = Way(poison=True, compiler=sanitizing_compiler(), flags=tuple(SANITIZERS))
    ways = [GCC, sanitised, POISONED_OBJECT_FILE]
    assert matrix.failures(available(ways), expected) == []


@pytest.mark.skipif(not number(0, 1), reason="takes a minute for each; with --long")
@pytest.mark.parametrize("name", LARGE)
def test_large_models(shared_model, name):
    matrix, expected = real_model(shared_model(name), 1)
    assert saved_bytes(matrix) > 0
    assert matrix.failures([GCC], expected) == []


@pytest.mark.slow
def test_inputs_overwritten_by_another_type():
    models = [model for model in CATALOG if model.name in OTHER_TYPE]
    assert len(models) == len(OTHER_TYPE)
    for model in models:
        assert saved_bytes(Matrix(imported(model), [])) > 0, model.name
    matrix, expected = side_by_side(models, 5)
    assert matrix.failures(available(AT_ONCE), expected) == []


@pytest.mark.slow
def test_models_of_one_operator():
    models = [m for m in sample(CATALOG, 4) if subgraphs_of(m.make()) == 1]
    for batch in (models[i : i + 10] for i in range(0, len(models), 10)):
        matrix, expected = side_by_side(batch, 5)
        assert matrix.failures(available(AT_ONCE), expected) == []
