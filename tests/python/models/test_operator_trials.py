"""The comparison of one operator with its reference tells apart all that may become of it."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from support.onnx_models import Graph
from support.operator_trials import sweep
from support.operator_trials.onnx.mutants import mutant_of
from support.operator_trials.trial import (
    EXACT,
    NoReferenceError,
    Tolerance,
    Trial,
    outcome,
    outcome_of_mutant,
)

pytestmark = pytest.mark.models

X = np.array([-1, 2, np.nan, 4], np.float32)


def trial_of(operator: str, reference, tolerance=EXACT, dtype="float32", **attributes) -> Trial:
    graph = Graph()
    graph.node(operator, graph.input("x", [4], dtype), outputs=["y"], **attributes)
    content = graph.model("y", dtype=dtype)
    runs = [{"x": X if dtype == "float32" else np.arange(4, dtype=dtype)}]
    runs.append({"x": np.ones(4, dtype)})
    return Trial("onnx", operator, "", content, runs, reference, tolerance)


def absolute(inputs):
    return [np.abs(inputs["x"])]


def nearly(inputs):
    return [np.abs(inputs["x"]) * np.float32(1.000001)]


def absolutes():
    return trial_of("Abs", absolute)


def without_reference(inputs):
    raise NoReferenceError("not this one")


def test_equal_elements():
    assert outcome(absolutes()).verdict == "equal"


def test_close_elements():
    assert outcome(replace(absolutes(), reference=nearly, tolerance=Tolerance())).verdict == "close"


def test_elements_that_are_not_close_enough():
    result = outcome(replace(absolutes(), reference=nearly))
    assert (result.verdict, result.is_fault) == ("wrong", True)
    assert result.detail == (
        "run 0, output 0: 3 of 4 elements differ, first at [0]: 1.0, not 1.0000009536743164"
    )


@pytest.mark.parametrize(
    ("nan_is_free", "verdict"), [(False, "wrong"), (True, "close")], ids=["same", "free"]
)
def test_nan_of_the_reference_only(nan_is_free, verdict):
    def reference(inputs):
        return [np.where(inputs["x"] == 2, np.float32(np.nan), np.abs(inputs["x"]))]

    tolerance = Tolerance(0, 0, nan_is_free)
    assert (
        outcome(replace(absolutes(), reference=reference, tolerance=tolerance)).verdict == verdict
    )


def test_nan_that_the_reference_does_not_have():
    free = Tolerance(nan_is_free=True)

    def reference(inputs):
        return [np.nan_to_num(np.abs(inputs["x"]))]

    assert outcome(replace(absolutes(), reference=reference, tolerance=free)).verdict == "wrong"


@pytest.mark.parametrize(
    ("reference", "detail"),
    [
        (lambda i: [np.abs(i["x"])[:3]], "run 0, output 0 is float32[4], not float32[3]"),
        (lambda i: [np.abs(i["x"]) > 0], "run 0, output 0 is float32[4], not bool[4]"),
        (lambda i: [i["x"], i["x"]], "run 0, 1 outputs, not 2"),
    ],
)
def test_other_outputs(reference, detail):
    result = outcome(replace(absolutes(), reference=reference))
    assert (result.verdict, result.detail) == ("wrong", detail)


def test_integers_are_exact():
    trial = trial_of("Abs", lambda i: [np.abs(i["x"]) + 1], Tolerance(1, 1), "int32")
    assert outcome(trial).verdict == "wrong"


def test_no_reference():
    result = outcome(replace(absolutes(), reference=without_reference))
    assert (result.verdict, result.detail) == ("no reference", "not this one")


def test_refusals_are_told_without_the_file():
    trial = trial_of("Abs", absolute)
    result = outcome(replace(trial, model=b"x"))
    assert result.verdict == "refused"
    assert result.detail.startswith("not an ONNX model")


def test_c_that_the_compiler_refuses_is_a_crash():
    result = outcome(absolutes(), ["--no-such-option"])
    assert (result.verdict, result.is_fault) == ("crash", True)


def test_programs_that_end_by_a_signal(monkeypatch):
    def ends(self, inputs):
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr("usmp.runtime.HostModule.run", ends)
    assert outcome(absolutes()).detail == "the C program ends by SIGKILL"


def test_errors_that_are_not_for_a_user(monkeypatch):
    def fails(path):
        raise KeyError("x")

    monkeypatch.setattr("usmp.import_model", fails)
    assert outcome(absolutes()).verdict == "crash"


def test_mutants_differ_in_one_number_and_are_the_same_each_time():
    trial = sweep.trial_of("onnx", "Softmax", 1)
    mutants = [mutant_of(trial, Random(seed)) for seed in (0, 0, 1)]
    assert mutants[0].model == mutants[1].model != trial.model
    assert mutants[0].description.startswith(f"{trial.description}; changed: axis=")
    assert mutant_of(absolutes(), Random(0)) is None


@pytest.mark.slow
def test_mutants_that_only_the_reference_refuses():
    taken = replace(absolutes(), reference=without_reference)
    assert outcome_of_mutant(taken).verdict == "taken"
    assert outcome_of_mutant(taken).is_fault
    assert outcome_of_mutant(replace(taken, model=b"x")).verdict == "refused"
    assert outcome_of_mutant(absolutes()).verdict == "equal"


def test_mutants_that_end_the_compiler(monkeypatch):
    monkeypatch.setattr("usmp.import_model", lambda path: os.kill(os.getpid(), signal.SIGKILL))
    assert outcome_of_mutant(absolutes()).detail == "the compiler ends by SIGKILL"


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["AveragePool", "Pad", "Split", "TopK"])
def test_mutants_of_operators(operator):
    """Each is refused, or gives the elements of onnxruntime."""
    (row,) = sweep.sweep("onnx", [operator], range(2), is_mutated=True)
    assert not row.faults, row.faults[0]
    assert row.verdicts.total() == 2
