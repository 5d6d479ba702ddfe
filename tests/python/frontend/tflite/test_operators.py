"""TFLite operators with random attributes, types and shapes, against what TFLite's kernels compute.

`benchmarks/operators.py tflite` does the same for as many trials as you like.
"""

from __future__ import annotations

import re
from random import Random

import pytest

import usmp
from conftest import ROOT
from support.levels import number, sample, seeds
from support.operator_trials.sweep import faults_of, never_compared
from support.operator_trials.tflite import (
    GENERATORS,
    generator_on,
    recurrent,
    registered_operators,
)
from support.operator_trials.tflite.draw import QUANTIZED, TYPES
from support.operator_trials.tflite.graphs import graph_trial
from support.operator_trials.trial import outcomes
from usmp.frontend.tflite.converters import CONVERTERS, MOVES, UNQUANTIZED
from usmp.frontend.tflite.importer import import_tflite

PARTS = 6
BUILT = 3
GRAPHS = 6
MOST_TRIALS = 24
NAME = re.compile(r"`(\w+)`")
QUICK = ("-O0",)
OF_ONE_TYPE = {
    *((code, dtype) for code in CONVERTERS.keys() - MOVES for dtype in QUANTIZED),
    *((code, dtype) for code in UNQUANTIZED for dtype in TYPES[:4]),
} - {(code, dtype) for code in recurrent.GENERATORS for dtype in TYPES}


def is_accepted(content: bytes) -> bool:
    try:
        import_tflite(content)
    except usmp.UnsupportedModelError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("part", range(PARTS))
def test_they_compute_what_the_kernels_compute(part):
    operators = sorted(GENERATORS)[part::PARTS]
    assert faults_of("tflite", operators, QUICK, number(1, 4), MOST_TRIALS) == {}


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("part", range(PARTS))
def test_no_type_is_accepted_that_no_kernel_takes(part):
    """For all of them there is a kernel, and some of them are compared."""
    trials = {
        f"{operator} {dtype}": generator_on(operator, dtype)(Random(f"{operator} {dtype}"))
        for operator, dtype in sorted(OF_ONE_TYPE)[part::PARTS]
    }
    accepted = {name: trial for name, trial in trials.items() if is_accepted(trial.model)}
    assert accepted
    built = {name: accepted[name] for name in sample(accepted, BUILT)}
    others = accepted.keys() - built.keys()
    assert [name for name in others if not accepted[name].has_reference()] == []
    results = outcomes(built, QUICK)
    assert {
        name: (accepted[name].description, result.verdict, result.detail)
        for name, result in results.items()
        if not result.is_compared
    } == {}


@pytest.mark.slow
@pytest.mark.models
def test_graphs_compute_what_the_kernels_compute():
    trials = {
        str(seed): graph_trial(Random(f"graph {seed}"), "int16" if seed % 3 else "int8")
        for seed in seeds(GRAPHS, 20 * GRAPHS)
    }
    assert {
        trials[seed].description: result.detail
        for seed, result in outcomes(trials, QUICK).items()
        if result.verdict != "equal"
    } == {}


def test_every_operator_is_compared():
    assert never_compared("tflite") == []


def test_what_the_page_refuses_in_part_is_supported():
    page = (ROOT / "docs/tflite-operators.md").read_text().split("## Where")[0]
    rows = re.findall(r"^\| (`[^|]*)\|", page, re.MULTILINE)
    named = {name for names in rows for name in NAME.findall(names)}
    known = {name.removeprefix("CUSTOM ").strip('"') for name in registered_operators()}
    assert named
    assert named <= known
