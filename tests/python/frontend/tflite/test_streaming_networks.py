"""Streaming networks, alone and several in one memory, run by run as in tflite-micro."""

from __future__ import annotations

from itertools import cycle, product
from random import Random

import pytest
from tvm.ir.transform import PassContext

import usmp
from support.levels import in_long_run, number
from support.micro import Micro, assert_equals_micro
from support.poison import poisoned
from support.random_streaming import random_streaming
from usmp.frontend.tflite.importer import import_tflite

pytestmark = [pytest.mark.models, pytest.mark.slow]

RUNS = 100

WAYS = list(product(["int8", "int16"], [False, True]))
SEEDS = [0, 1, 2, 3, 4, 10, 19]
"""Of networks of up to three layers, in which each layer is, and each way to use a variable."""

SMALL = [(3, seed, *way) for seed, way in zip(SEEDS, cycle(WAYS), strict=False)]
LARGE = [(6, seed, *way) for seed, way in product(range(6), WAYS)]


@pytest.mark.parametrize(
    ("most_layers", "seed", "dtype", "use_workspace_io"), [*SMALL, *in_long_run(LARGE)]
)
def test_random_networks(most_layers, seed, dtype, use_workspace_io):
    content = random_streaming(seed, dtype, most_layers)
    with PassContext(opt_level=3, config={"tir.usmp.use_workspace_io": use_workspace_io}):
        factory = usmp.build(import_tflite(content))
    assert_equals_micro(poisoned(factory).load(), content, RUNS)


@pytest.mark.parametrize("concurrent", [[], [("first", "third")]], ids=["in_turn", "at_once"])
@pytest.mark.parametrize("seed", range(number(1, 2)))
def test_networks_in_one_memory(seed, concurrent):
    """The state of each survives the runs of the others."""
    names = ["first", "second", "third"]
    models = {
        name: random_streaming(100 * seed + n, most_layers=number(3, 6))
        for n, name in enumerate(names)
    }
    imported = {name: import_tflite(content) for name, content in models.items()}
    with PassContext():
        factory = usmp.build(imported, concurrent=concurrent)
    module, random = poisoned(factory).load(), Random(seed)
    references = {name: Micro(content) for name, content in models.items()}
    for run in range(2 * RUNS):
        name = random.choice(names)
        inputs = references[name].random_inputs(run)
        actual, expected = module.run(inputs, name), references[name].run(inputs)
        assert {k: v.tobytes() for k, v in actual.items()} == {
            k: v.tobytes() for k, v in expected.items()
        }
