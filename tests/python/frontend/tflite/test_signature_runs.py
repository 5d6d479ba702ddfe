"""TFLite files with several signatures, the whole way, run in any order as LiteRT runs them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.levels import number
from support.litert import SignatureReference
from support.poison import poisoned
from support.quantized_models.recurrent import Svdf, svdf_graph
from support.random_signatures import random_signatures
from support.tflite_builder import Signature, write_model
from support.tflite_signatures import (
    INTEGER,
    REAL,
    START,
    counter_file,
    initialization,
    reading,
    summing,
)
from usmp.frontend.tflite.importer import import_tflite
from usmp.runtime import HostModule

pytestmark = [pytest.mark.models, pytest.mark.slow]

RUNS = 200


def build(content: bytes, **config: object) -> usmp.AOTExecutorFactoryModule:
    with PassContext(opt_level=3, config={f"tir.usmp.{k}": v for k, v in config.items()}):
        return usmp.build(import_tflite(content))


def assert_equals_litert(
    model: usmp.AOTExecutorFactoryModule | HostModule, content: bytes, seed: int, runs: int = RUNS
) -> None:
    """Byte for byte, entries in random order, from the first run of any on."""
    reference, random = SignatureReference(content), Random(seed)
    for run in range(runs):
        key = random.choice(reference.keys)
        inputs = reference.random_inputs(key, seed + run)
        actual, expected = model.run(inputs, key), reference.run(key, inputs)
        assert {k: (v.shape, v.tobytes()) for k, v in actual.items()} == {
            k: (v.shape, v.tobytes()) for k, v in expected.items()
        }


def initialized_counter(spec) -> bytes:
    """As converters write it: every signature runs the initialization."""
    start = START.astype(spec.dtype)
    return write_model(
        summing(spec, 2),
        reading(spec, 2),
        initialization(start, spec.quantization),
        signatures=[Signature("step", 0), Signature("peek", 1)],
    )


@pytest.mark.parametrize("spec", [REAL, INTEGER], ids=["float32", "int8"])
@pytest.mark.parametrize("use_workspace_io", [False, True])
@pytest.mark.parametrize("seed", range(number(1, 2)))
def test_entries_in_any_order(spec, use_workspace_io, seed):
    content = initialized_counter(spec)
    factory = build(content, use_workspace_io=use_workspace_io)
    assert_equals_litert(factory.load(), content, seed)


def test_an_entry_that_sets_the_variable():
    content = counter_file(INTEGER)
    module, reference = build(content).load(), SignatureReference(content)
    random = Random(0)
    for run in range(RUNS):
        # In LiteRT an initialization undoes what ran before it.
        key = random.choice(reference.keys) if run > 1 else ("step", "peek")[run]
        inputs = reference.random_inputs(key, run)
        actual, expected = module.run(inputs, key), reference.run(key, inputs)
        assert {k: v.tobytes() for k, v in actual.items()} == {
            k: v.tobytes() for k, v in expected.items()
        }


@pytest.mark.parametrize("first", ["peek", "clear", "twice"])
def test_initial_values_count_from_the_first_run_of_any_entry(first):
    module = build(counter_file(REAL)).load()
    x = np.ones((1, 4), np.float32)
    module.run({"x": x} if first == "twice" else {}, first)
    (held,) = module.run({}, "peek").values()
    assert held.tolist() == ([[0] * 4] if first == "clear" else START.tolist())
    (total,) = module.run({"by": x}, "step").values()
    np.testing.assert_array_equal(total, held + 1)
    module.reset()
    (held,) = module.run({}, "peek").values()
    assert held.tolist() == START.tolist()


@pytest.mark.parametrize("algorithm", ["greedy_by_size", "no_sharing", "hill_climb"])
def test_memory_that_is_not_kept_may_be_overwritten(algorithm):
    content = initialized_counter(INTEGER)
    factory = build(content, use_workspace_io=True, algorithm=algorithm)
    assert_equals_litert(poisoned(factory).load(), content, 0)


def test_variable_tensors_belong_to_their_subgraph():
    """Two signatures of one subgraph share them; an equal subgraph has its own."""
    graphs = [svdf_graph(Svdf(activation="RELU")) for _ in range(2)]
    signatures = [Signature("a", 0), Signature("again", 0), Signature("b", 1)]
    content = write_model(*graphs, signatures=signatures)
    mod = import_tflite(content)
    names = {key: [str(s.name) for s in mod[key].attrs["states"]] for key in ("a", "again", "b")}
    assert names == {"a": ["t4_state"], "again": ["t4_state"], "b": ["t4_state1"]}
    assert_equals_litert(build(content).load(), content, 0)


@pytest.mark.parametrize("seed", range(number(8, 20)))
def test_random_signatures(seed):
    content = random_signatures(seed)
    factory = build(content, use_workspace_io=bool(seed % 2))
    assert_equals_litert(poisoned(factory).load(), content, seed, 100)
