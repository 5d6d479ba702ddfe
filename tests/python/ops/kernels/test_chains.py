"""Chains of functions behind kernels, which are fused into these, compute tflite-micro's bytes."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from random import Random

import pytest

import usmp
from support.built_ways import Matrix, Way
from support.kernel_chains import KERNELS, Branch, chains_trial, random_chains
from support.operator_trials.trial import Trial
from support.tflite_tensors import graph_tensors
from usmp.names import CORES

pytestmark = pytest.mark.models

BY_VECTORS = ("LEAKY_RELU", "QUANTIZE", "RELU6_CLAMP")
"""One function of each kind that vectors compute: a table, another scale, limits."""
SUMS = ("conv", "conv_1x1", "conv_groups", "depthwise", "dense")
"""Kernels for vectors, which compute such functions of what they store."""
IMAGE = (1, 3, 4, 16)
SEEDS = 1


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


def pairs(kernels: tuple[str, ...], functions: tuple[str, ...]) -> list[Branch]:
    """Each ordered pair of functions behind each kernel."""
    return [Branch(kernel, pair) for kernel in kernels for pair in product(functions, repeat=2)]


def test_pairs_behind_sums_are_computed_whole_by_vectors(tmp_path):
    branches = pairs(SUMS, BY_VECTORS)
    way = Way(target="c -mcpu=cortex-m55", flags=("-O1",), proof=False)
    source = computed(chains_trial(Random(2), IMAGE, branches), way, tmp_path)
    kernels = re.findall(r"^/\* \S.* and .* MACs; .*$", source, re.MULTILINE)
    assert len(kernels) > 40
    assert [kernel for kernel in kernels if ", vectors" not in kernel] == []


def test_pairs_behind_all_other_kernels(tmp_path):
    others = tuple(name for name in KERNELS if name not in SUMS)
    branches = [b for b in pairs(others, BY_VECTORS[:2]) if len(set(b.functions)) == 2]
    way = Way(target="c -mcpu=cortex-m55", flags=("-O1",), proof=False)
    computed(chains_trial(Random(1), IMAGE, branches), way, tmp_path)


@pytest.mark.parametrize("core", ["generic", *CORES])
def test_random_chains(core, tmp_path):
    trial = random_chains(Random(f"{core} {SEEDS}"), branches=4)
    way = Way(target=f"c -mcpu={core}", poison=True, flags=("-O1",), proof=False)
    computed(trial, way, tmp_path)
