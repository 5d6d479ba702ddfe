"""Models that extend a state, read it in parts and shift it: the whole way, run after run."""

from __future__ import annotations

import re

import numpy as np
import pytest

import usmp
from support import public_models
from support.c_program import SANITIZERS, run_as_program
from support.levels import seeds
from support.micro import Micro
from support.planner_contexts import planner_context
from support.poison import poisoned
from support.window_models import Numbers, WindowModel

pytestmark = pytest.mark.cc

STREAMING = "mww_okay_nabu_v2_int8"
RUNS = 12


def build(model, **options) -> usmp.AOTExecutorFactoryModule:
    with planner_context(options):
        return usmp.build(model)


def windows(factory: usmp.AOTExecutorFactoryModule) -> int:
    """How many states are the start of a larger buffer."""
    return len(
        re.findall(r"\bs\d = .*address_of\((?!global)", factory.ir_mod["__tvm_main__"].script())
    )


def assert_computes(factory: usmp.AOTExecutorFactoryModule, model: WindowModel, seed: int) -> None:
    module, states = factory.load(), model.values()
    random = np.random.default_rng(seed)
    for _ in range(RUNS):
        x = model.input(random)
        outputs, states = model.run(Numbers(), x, states)
        actual = module.run({"x": x})
        for index, expected in enumerate(outputs):
            np.testing.assert_array_equal(actual[f"y{index}"].reshape(expected.shape), expected)


def assert_builds_compute(factory: usmp.AOTExecutorFactoryModule, model: WindowModel, seed: int):
    """Also when all that is dead is overwritten after each call."""
    assert_computes(factory, model, seed)
    assert_computes(poisoned(factory), model, seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_random_models_compute_what_numpy_does(part):
    for seed in seeds(12, 40)[part::2]:
        model = WindowModel(seed)
        factory = build(model.build(), use_workspace_io=seed % 4 < 2)
        assert_builds_compute(factory, model, seed)


@pytest.mark.parametrize("seed", [3, 2_000_016])
def test_states_that_are_the_start_of_a_larger_buffer(seed):
    """About one random model in seven has one."""
    model = WindowModel(seed)
    factory = build(model.build())
    assert windows(factory) == {3: 1, 2_000_016: 2}[seed]
    assert_builds_compute(factory, model, seed)


@pytest.mark.parametrize("algorithm", ["greedy_by_size", "hill_climb", "no_sharing"])
@pytest.mark.parametrize("disabled", [(), ("OverlapInputsAndOutputs",)])
def test_other_algorithms(algorithm, disabled):
    for seed in seeds(1, 4):
        model = WindowModel(seed)
        factory = build(model.build(), algorithm=algorithm, disabled_pass=disabled)
        assert_computes(poisoned(factory), model, seed)


# ---- a public streaming model


@pytest.mark.slow
@pytest.mark.parametrize("io", [False, True], ids=["own-io", "workspace-io"])
def test_a_streaming_model_takes_little_more_than_its_state(shared_model, io):
    factory = public_models.build(shared_model(STREAMING), use_workspace_io=io)
    memory = factory.metadata["modules"]["default"]["memory"]["ram"]
    assert memory["state_size_bytes"] == 3473
    assert memory["workspace_size_bytes"] == 3873


@pytest.mark.slow
@pytest.mark.parametrize("io", [False, True], ids=["own-io", "workspace-io"])
def test_a_streaming_model_for_200_steps(shared_model, io):
    """As TFLite Micro; also when all that is dead is overwritten after each call."""
    path = shared_model(STREAMING)
    factory = public_models.build(path, use_workspace_io=io)
    reference = Micro(path)
    modules = [factory.load(), poisoned(factory).load()]
    for step in range(200):
        inputs = reference.random_inputs(step)
        (expected,) = reference.run(inputs).values()
        for module in modules:
            (actual,) = module.run(inputs).values()
            assert actual.tobytes() == expected.tobytes()


@pytest.mark.slow
def test_a_streaming_model_under_sanitizers(shared_model, tmp_path):
    path = shared_model(STREAMING)
    factory = public_models.build(path, use_workspace_io=True)
    reference = Micro(path)
    runs = [reference.random_inputs(step) for step in range(50)]
    expected = b"".join(value.tobytes() for i in runs for value in reference.run(i).values())
    data = b"".join(value.tobytes() for inputs in runs for value in inputs.values())
    assert run_as_program(factory, tmp_path, SANITIZERS, data) == expected
