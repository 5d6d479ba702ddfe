"""Quantized models, most of one operator, against the bytes that tflite-micro computes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from tvm import tirx
from tvm.ir import IRModule

import usmp
from support.imported_models import imported
from support.joined_models import joined, part_of
from support.levels import number, sample
from support.litert import Reference
from support.micro import Micro
from support.planner_contexts import planner_context
from support.quantized_kinds import by_kind, kind
from support.quantized_models import CATALOG, QuantizedModel
from support.tflite_tensors import extreme_inputs, graph_tensors, random_inputs
from usmp.frontend.tflite.importer import import_tflite
from usmp.runtime import HostModule

RANDOM_INPUTS = number(10, in_long_run=50)
ORACLES = {"micro": Micro, "litert": Reference}
IN_PLACE = {"tir.usmp.use_workspace_io": True, "tir.usmp.debug": ["poison_dead_bytes"]}
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
BATCH = 12
"""Models of one operator each that are one program."""


def chosen(models: list[QuantizedModel]) -> list[QuantizedModel]:
    """Some of each kind; all in a long run, as `benchmarks/overlap_matrix.py --suite` builds all,
    in more ways, and compares them with the same reference."""
    kinds = by_kind(models)
    # Almost each network is of its own kind, of operators that other models have alone.
    networks = sample([of for of in kinds if len(of[0]) > 1], 5)
    kept = [alike for of, alike in kinds.items() if len(of[0]) == 1 or of in networks]
    return [model for alike in kept for model in alike]


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


def check_outputs(models: Sequence[QuantizedModel]) -> None:
    """Build models as one with the outputs over the inputs where they may be, and everything dead
    overwritten, and compare what it computes with the references.

    A model of several operators is built alone, and may run them interleaved.
    """
    contents = {model.name: model.make() for model in models}
    alone = len(models) == 1
    mod = imported(models[0]) if alone else import_tflite(joined(contents))
    disabled = () if alone and operator_count(mod) > 1 else ("StreamOperators",)
    config = {
        **IN_PLACE,
        "disabled_pass": disabled if alone else ("StreamOperators", "OrderOperators"),
        # That fewer bytes do not suffice is hard to prove of models that have nothing in common.
        "tir.usmp.algorithm": "auto" if alone else "hill_climb",
    }
    with planner_context(config, opt_level=3):
        factory = usmp.build(mod)
    ours = HostModule(factory.files(), factory.metadata["modules"]["default"], ["-O0"])
    # None is made anew between two inputs, so models that keep state are compared too.
    references = {model.name: ORACLES[model.oracle](contents[model.name]) for model in models}
    for inputs in inputs_of(*contents.values() if alone else [joined(contents)]):
        outputs = ours.run(inputs)
        for name, reference in references.items():
            if alone:
                assert_same_bytes(outputs, reference.run(inputs))
            else:
                expected = reference.run(part_of(inputs, name))
                assert_same_bytes(part_of(outputs, name), expected)


def operator_count(mod: IRModule) -> int:
    return sum(isinstance(func, tirx.PrimFunc) for func in mod.functions.values())


def batches(models: list[QuantizedModel]) -> list[list[QuantizedModel]]:
    """Models of one operator and one subgraph together, and each other one alone."""
    kinds = [kind(model) for model in models]
    is_simple = [len(operators) == subgraphs == 1 for operators, subgraphs, _ in kinds]
    simple = [model for model, together in zip(models, is_simple, strict=True) if together]
    others = [[model] for model, together in zip(models, is_simple, strict=True) if not together]
    return [*(simple[i : i + BATCH] for i in range(0, len(simple), BATCH)), *others]


def failures_of(models: list[QuantizedModel]) -> dict[str, str]:
    """What fails, by the name of the model: each is tried alone if all together fail."""
    try:
        check_outputs(models)
    except (AssertionError, RuntimeError, ValueError) as error:
        text = f"{type(error).__name__}: {error}"
        if len(models) == 1:
            return {models[0].name: text}
        each = [failures_of([model]) for model in models]
        return {n: t for found in each for n, t in found.items()} or {"together": text}
    return {}


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("family", FAMILIES)
def test_outputs_equal_the_reference(family):
    """All models that are chosen are tried, also after one that fails."""
    found = [failures_of(batch) for batch in batches(chosen(FAMILIES[family]))]
    assert {name: text for each in found for name, text in each.items()} == {}


def test_catalog_is_large_and_its_names_are_unique():
    assert len(CATALOG) >= 300
    assert [name for name, count in Counter(m.name for m in CATALOG).items() if count > 1] == []


@pytest.mark.slow
def test_models_are_the_same_each_time_they_are_made():
    assert [m.name for m in sample(CATALOG, 200) if m.make() != m.make()] == []


@pytest.mark.slow
@pytest.mark.models
def test_outputs_depend_on_the_inputs():
    """A model that always gives the same output would prove little."""
    constant, models = set(), sample(CATALOG, 200)
    for model in models:
        content = model.make()
        reference = ORACLES[model.oracle](content)
        runs = [reference.run(inputs) for inputs in inputs_of(content, 8)]
        for name in runs[0]:
            if all((run[name] == runs[0][name]).all() for run in runs):
                constant.add(model.name)
    assert constant == CONSTANT & {model.name for model in models}


@pytest.mark.slow
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
