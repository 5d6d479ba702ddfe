"""Random programs of several entries compute what numpy does, in any order of the entries.

They are lowered, planned in every way and run as TIR; between runs only states keep their bytes.
An entry that another one may interrupt is interrupted, at any step.
"""

from functools import partial
from itertools import count, islice
from random import Random

import numpy as np
import pytest
import tvm

from support.entry_programs import EntriesModel, Machine, bound_to_c, bytes_of_entries
from support.levels import number
from usmp.aot.transform import LowerEntries
from usmp.objects.attributes.module_attributes import CONCURRENT_ATTR
from usmp.transform import PoisonDeadBytes, UnifiedStaticMemoryPlanner
from usmp_solver import ALGORITHMS

pytestmark = [pytest.mark.property, pytest.mark.slow]

SEEDS = len(ALGORITHMS) * number(2, in_long_run=20)
INTERRUPTED = number(4, in_long_run=40)
"""Programs with entries that may interrupt each other."""
RUNS = 6


def planned(model, algorithm, io, concurrent=()):
    mod = model.build()
    if concurrent:
        mod = mod.with_attr(CONCURRENT_ATTR.name, concurrent)
    config = {"tir.usmp.algorithm": algorithm, "tir.usmp.use_workspace_io": io}
    with tvm.transform.PassContext(config=config):
        return UnifiedStaticMemoryPlanner()(bound_to_c(LowerEntries()(mod)))


def drawn_input(random):
    return np.frombuffer(random.randbytes(4), np.int8)


@pytest.mark.parametrize("io", [False, True], ids=["own-io", "workspace-io"])
def test_entries_in_turn(io):
    for seed in range(SEEDS):
        model, random = EntriesModel(seed), Random(seed)
        mod = planned(model, ALGORITHMS[seed % len(ALGORITHMS)], io)
        # The fills take most of the time: each algorithm has them in half of its programs.
        poison = seed // len(ALGORITHMS) % 2 == io
        machine = Machine(PoisonDeadBytes()(mod) if poison else mod)
        names = list(model.entries)
        runs = [(random.choice(names), drawn_input(random)) for _ in range(RUNS)]
        found = []
        for name, x in runs:
            machine.forget()
            found.append(machine.run(name, x))
        assert found == model.expected(runs), seed


@pytest.mark.parametrize("io", [False, True], ids=["own-io", "workspace-io"])
def test_entries_that_interrupt_each_other(io):
    models = ((seed, EntriesModel(seed)) for seed in count())
    concurrent = ((seed, model) for seed, model in models if model.concurrent())
    for seed, model in islice(concurrent, INTERRUPTED):
        random, pairs = Random(seed), model.concurrent()
        mod = planned(model, ALGORITHMS[seed % len(ALGORITHMS)], io, pairs)
        used = bytes_of_entries(mod)
        assert all(used[one].isdisjoint(used[other]) for one, other in pairs), seed
        # The fills take most of the time.
        machine = Machine(PoisonDeadBytes()(mod) if seed % 4 == 0 else mod)
        runs, found = [], []
        for _ in range(3):
            one, other = random.sample(random.choice(pairs), 2)
            runs += [(one, drawn_input(random)), (other, drawn_input(random))]
            (_, first), (_, second) = runs[-2:]
            machine.forget()
            inner = partial(machine.run, other, second)
            found += machine.interrupted(one, first, inner, random.randrange(60))
        # They share no state, so it does not matter which of them is first.
        assert found == model.expected(runs), seed
