"""Streaming networks, alone and several in one memory, run by run as in tflite-micro."""

from __future__ import annotations

from random import Random

import pytest
from tvm.ir.transform import PassContext

import usmp
from support.micro import Micro, assert_equals_micro
from support.poison import poisoned
from support.random_streaming import random_streaming
from usmp.frontend.tflite.importer import import_tflite

pytestmark = pytest.mark.models

RUNS = 100


@pytest.mark.parametrize("use_workspace_io", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("seed", range(6))
def test_random_networks(seed, dtype, use_workspace_io):
    content = random_streaming(seed, dtype)
    with PassContext(opt_level=3, config={"tir.usmp.use_workspace_io": use_workspace_io}):
        factory = usmp.build(import_tflite(content))
    assert_equals_micro(poisoned(factory).load(), content, RUNS)


@pytest.mark.parametrize("concurrent", [[], [("first", "third")]], ids=["in_turn", "at_once"])
@pytest.mark.parametrize("seed", range(2))
def test_networks_in_one_memory(seed, concurrent):
    """The state of each survives the runs of the others."""
    names = ["first", "second", "third"]
    models = {name: random_streaming(100 * seed + n) for n, name in enumerate(names)}
    factory = usmp.build(
        {name: import_tflite(content) for name, content in models.items()}, concurrent=concurrent
    )
    module, random = poisoned(factory).load(), Random(seed)
    references = {name: Micro(content) for name, content in models.items()}
    for number in range(3 * RUNS):
        name = random.choice(names)
        inputs = references[name].random_inputs(number)
        actual, expected = module.run(inputs, name), references[name].run(inputs)
        assert {k: v.tobytes() for k, v in actual.items()} == {
            k: v.tobytes() for k, v in expected.items()
        }
