"""Chains of functions behind kernels, which are fused into these, compute tflite-micro's bytes."""

from __future__ import annotations

import re
from itertools import cycle, product
from pathlib import Path
from random import Random

import pytest

import usmp
from support.built_ways import Matrix, Way
from support.kernel_chains import KERNELS, Branch, chains_model, chains_trial, random_chains
from support.kernel_models import differences, kernel_bodies
from support.levels import number, sample
from support.operator_trials.tflite.draw import Draw
from support.operator_trials.trial import Trial
from support.tflite_tensors import graph_tensors
from usmp.frontend.tflite.importer import import_tflite
from usmp.names import CORES
from usmp.objects.schedule import SCHEDULE_ATTR

pytestmark = [pytest.mark.models, pytest.mark.slow]

BY_VECTORS = ("LEAKY_RELU", "QUANTIZE", "RELU6_CLAMP")
"""One function of each kind that vectors compute: a table, another scale, limits."""
SUMS = ("conv", "conv_1x1", "conv_groups", "depthwise", "dense")
"""Kernels for vectors, which compute such functions of what they store."""
IMAGE = (1, 3, 4, 16)
SEEDS = 1
CORE = "cortex-m55"


def computed(trial: Trial, way: Way, folder: Path) -> str:
    """The C of a trial, whose outputs are the bytes of the reference."""
    path = folder / "model.tflite"
    path.write_bytes(trial.model)
    names = [tensor.name for tensor in graph_tensors(trial.model)[1]]
    expected = [dict(zip(names, trial.reference(run), strict=True)) for run in trial.runs]
    matrix = Matrix(usmp.import_model(path), trial.runs)
    assert matrix.failures([way], matrix.expected(expected)) == [], trial.description
    files = matrix.factory(way).files()
    return next(content for name, content in files.items() if name.endswith("lib0.c")).decode()


def way_for(core: str, poison: bool) -> Way:
    """Chains do not depend on each other, so another order would only take longer to find."""
    target = f"c -mcpu={core}"
    return Way(target=target, poison=poison, flags=("-O0",), proof=False, interleave=False)


def pairs(kernels: tuple[str, ...], functions: tuple[str, ...]) -> list[Branch]:
    """Each function first and second behind each kernel, and each ordered pair behind some kernel;
    in a long run, each pair behind each."""
    count, more = len(functions), number(1, len(functions))
    return [
        Branch(kernel, (functions[first], functions[second]))
        for place, kernel in enumerate(kernels)
        for first, second in product(range(count), repeat=2)
        if (second - first - place) % count < more
    ]


def test_pairs_behind_sums_are_computed_whole_by_vectors():
    """By kernels that compute what the operators do; what these do, random chains compare."""
    branches = pairs(SUMS, BY_VECTORS)
    bodies = kernel_bodies(import_tflite(chains_model(Draw(Random(2)), IMAGE, branches)), CORE)
    # The others are operators whose constants are packed.
    fused = [
        b
        for b in bodies
        if re.search("CONV_2D|FULLY", b.operator.title) and SCHEDULE_ATTR.of(b.func)
    ]
    assert len({body.operator.title for body in fused}) > 0.88 * len(branches)
    assert [b.title for b in fused if ", vectors" not in SCHEDULE_ATTR.of(b.func).tile] == []
    assert differences(bodies) == []


def test_pairs_behind_all_other_kernels(tmp_path):
    """One after the other in one order, and in the other; in a long run, in both."""
    table, scale = BY_VECTORS[:2]
    others = [name for name in KERNELS if name not in SUMS]
    orders = cycle(((table, scale), (scale, table)))
    branches = [Branch(*each) for each in zip(others * number(1, 2), orders, strict=False)]
    computed(chains_trial(Random(1), IMAGE, branches), way_for(CORE, poison=False), tmp_path)


@pytest.mark.parametrize("core", sample(["generic", *CORES], 2))
def test_random_chains(core, tmp_path):
    trial = random_chains(Random(f"{core} {SEEDS}"), branches=4)
    computed(trial, way_for(core, poison=True), tmp_path)
