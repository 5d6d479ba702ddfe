"""Quantized models, most of one operator, against the bytes that tflite-micro computes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import numpy as np
import pytest
from tvm import tirx
from tvm.ir.transform import PassContext

import usmp
from support.imported_models import imported
from support.litert import Reference
from support.micro import Micro
from support.quantized_models import CATALOG, QuantizedModel
from support.tflite_tensors import extreme_inputs, graph_tensors, random_inputs
from usmp.runtime import HostModule

RANDOM_INPUTS = 50
ORACLES = {"micro": Micro, "litert": Reference}
IN_PLACE = {"tir.usmp.use_workspace_io": True, "tir.usmp.poison_dead_bytes": True}
CONSTANT = {
    "conv_2d_vanishing_multiplier",
    "depthwise_conv_2d_vanishing_multiplier",
    "softmax_int16_one_class",
}
"""Models whose output is the same for every input, on purpose."""
STATEFUL = ("svdf_", "lstm_", "variable_")
FORGETFUL = {"svdf_memory_1"}
"""The only one of them that forgets each input at once."""


def families() -> dict[str, list[QuantizedModel]]:
    """The models of the catalog by the first word of their names."""
    found: dict[str, list[QuantizedModel]] = defaultdict(list)
    for model in CATALOG:
        found[model.name.partition("_")[0]].append(model)
    return found


FAMILIES = families()
SMALL_FAMILY = 20
"""Of larger ones every other model is built here; `benchmarks/overlap_matrix.py --suite` builds
all, in more ways, and compares them with the same reference."""


def inputs_of(content: bytes, count: int = RANDOM_INPUTS) -> list[dict[str, np.ndarray]]:
    """Random inputs, and those of which every element is an extreme."""
    tensors, _ = graph_tensors(content)
    return [*(random_inputs(tensors, seed) for seed in range(count)), *extreme_inputs(tensors)]


def assert_same_bytes(actual: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> None:
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        assert actual[name].dtype == value.dtype
        assert actual[name].shape == value.shape
        if actual[name].tobytes() != value.tobytes():
            np.testing.assert_array_equal(actual[name], value)
            raise AssertionError(f"{name}: equal numbers of different bytes")


def check_outputs(model: QuantizedModel) -> None:
    """Build the model with the output over the input where it may be, and everything dead
    overwritten, and compare what it computes with the reference."""
    content = model.make()
    mod = imported(model)
    # One operator alone has no other one to run interleaved with.
    operators = sum(isinstance(func, tirx.PrimFunc) for func in mod.functions.values())
    with PassContext(opt_level=3, config=IN_PLACE | {"tir.usmp.streaming": operators > 1}):
        factory = usmp.build(mod)
    ours = HostModule(factory.files(), factory.metadata["modules"]["default"], ["-O0"])
    # Neither is made anew between two inputs, so models that keep state are compared too.
    reference = ORACLES[model.oracle](content)
    for inputs in inputs_of(content):
        assert_same_bytes(ours.run(inputs), reference.run(inputs))


@pytest.mark.models
@pytest.mark.parametrize("family", FAMILIES)
def test_outputs_equal_the_reference(family):
    """All models that are chosen are tried, also after one that fails."""
    failures = {}
    models = FAMILIES[family]
    for model in models if len(models) <= SMALL_FAMILY else models[::2]:
        try:
            check_outputs(model)
        except (AssertionError, RuntimeError, ValueError) as error:
            failures[model.name] = f"{type(error).__name__}: {error}"
    assert failures == {}


def test_catalog_is_large_and_its_names_are_unique():
    assert len(CATALOG) >= 300
    assert [name for name, count in Counter(m.name for m in CATALOG).items() if count > 1] == []


def test_models_are_the_same_each_time_they_are_made():
    assert [m.name for m in CATALOG if m.make() != m.make()] == []


@pytest.mark.models
def test_outputs_depend_on_the_inputs():
    """A model that always gives the same output would prove little."""
    constant = set()
    for model in CATALOG:
        content = model.make()
        reference = ORACLES[model.oracle](content)
        runs = [reference.run(inputs) for inputs in inputs_of(content, 8)]
        for name in runs[0]:
            if all((run[name] == runs[0][name]).all() for run in runs):
                constant.add(model.name)
    assert constant == CONSTANT


@pytest.mark.models
def test_models_with_state_remember():
    """The same input again and again does not give the same output."""
    forgetful = set()
    for model in CATALOG:
        if model.name.startswith(STATEFUL):
            content = model.make()
            reference = ORACLES[model.oracle](content)
            inputs = inputs_of(content, 1)[0]
            runs = [reference.run(inputs) for _ in range(4)]
            if all((run[name] == runs[0][name]).all() for run in runs for name in run):
                forgetful.add(model.name)
    assert forgetful == FORGETFUL
