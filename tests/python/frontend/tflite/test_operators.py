"""TFLite operators with random attributes, types and shapes, against what TFLite's kernels compute.

`benchmarks/operators.py tflite` does the same for as many trials as you like.
"""

from __future__ import annotations

import re
from random import Random

import pytest

import usmp
from conftest import ROOT
from support.operator_trials.sweep import never_compared, trial_of
from support.operator_trials.tflite import (
    GENERATORS,
    generator_on,
    recurrent,
    registered_operators,
)
from support.operator_trials.tflite.draw import QUANTIZED, TYPES
from support.operator_trials.tflite.graphs import graph_trial
from support.operator_trials.trial import outcome
from usmp.frontend.tflite.converters import CONVERTERS, IMPORTED, MOVES, UNQUANTIZED
from usmp.frontend.tflite.importer import import_tflite

GRAPHS = 12
MOST_TRIALS = 24
NAME = re.compile(r"`(\w+)`")
QUICK = ("-O0",)
SELECTIONS = {"NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5", "SEGMENT_SUM", "TOPK_V2"}
"""Operators that are refused if the number of what they give is computed."""
OF_ONE_TYPE = {
    *((code, dtype) for code in CONVERTERS.keys() - MOVES for dtype in QUANTIZED),
    *((code, dtype) for code in IMPORTED.keys() | UNQUANTIZED for dtype in TYPES[:4]),
} - {(code, dtype) for code in recurrent.GENERATORS for dtype in TYPES}


def is_accepted(content: bytes) -> bool:
    try:
        import_tflite(content)
    except usmp.UnsupportedModelError:
        return False
    return True


@pytest.mark.models
@pytest.mark.parametrize("operator", sorted(GENERATORS))
def test_it_computes_what_the_kernels_compute(operator):
    for seed in range(MOST_TRIALS):
        trial = trial_of("tflite", operator, seed)
        result = outcome(trial, QUICK)
        assert not result.is_fault, f"seed {seed}: {trial.description}: {result.detail}"
        if result.is_compared:
            return
    raise AssertionError(f"none of {MOST_TRIALS} trials of {operator} could be compared")


@pytest.mark.models
@pytest.mark.parametrize(("operator", "dtype"), sorted(OF_ONE_TYPE))
def test_no_type_is_accepted_that_no_kernel_takes(operator, dtype):
    trial = generator_on(operator, dtype)(Random(f"{operator} {dtype}"))
    if is_accepted(trial.model):
        result = outcome(trial, QUICK)
        assert result.is_compared, f"{trial.description}: {result.verdict}: {result.detail}"


@pytest.mark.models
@pytest.mark.parametrize("seed", range(GRAPHS))
def test_graphs_compute_what_the_kernels_compute(seed):
    trial = graph_trial(Random(f"graph {seed}"), "int16" if seed % 3 else "int8")
    assert outcome(trial, QUICK).verdict == "equal", trial.description


def test_every_operator_is_compared():
    assert never_compared("tflite") == []


def test_what_the_page_says_is_refused():
    page = (ROOT / "docs/tflite-operators.md").read_text().split("## Where")[0]
    rows = re.findall(r"^\| (`[^|]*)\| ([^|]*)\|", page, re.MULTILINE)
    never = {name for names, _ in rows for name in NAME.findall(names)}
    assert never & registered_operators() == {
        "ATAN2",
        "BIDIRECTIONAL_SEQUENCE_LSTM",
        "BIDIRECTIONAL_SEQUENCE_RNN",
        "GELU",
        "L2_NORMALIZATION",
        "RFFT2D",
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        "UNIDIRECTIONAL_SEQUENCE_RNN",
        *SELECTIONS,
    }
