"""Damaged TFLite files of many kinds: each is imported, or refused with one clear message.

`benchmarks/fuzz_tflite.py` does the same for as many files as you like.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from support import tflite_fuzz_worker
from support.levels import number
from support.tflite_fuzzing import Outcome, sweep
from support.tflite_mutations import Mutant, draw_mutant, small_models
from usmp.support.errors import UnsupportedModelError

MUTANTS = number(80, 3000)
BUILT = number(2, 60)
FIRST_BUILT = 201_500


def findings(outcomes: list[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if not outcome.is_clean]


@pytest.mark.slow
@pytest.mark.models
def test_damaged_files_are_imported_or_refused():
    outcomes = list(sweep(0, MUTANTS, of_real=0.02))
    assert findings(outcomes) == []
    assert [outcome.seed for outcome in outcomes] == list(range(MUTANTS))
    counts = Counter(outcome.kind for outcome in outcomes)
    assert counts["refused"] > MUTANTS / 2
    assert counts["imported"] > MUTANTS / 8


@pytest.mark.slow
@pytest.mark.models
def test_what_is_imported_runs_like_a_reference():
    outcomes = list(sweep(FIRST_BUILT, BUILT * 4, of_real=0, built=1))
    assert findings(outcomes) == []
    assert sum(outcome.kind.startswith("runs like") for outcome in outcomes) >= BUILT


@pytest.mark.slow
@pytest.mark.models
def test_mutants_are_the_same_each_time():
    assert [draw_mutant(seed) for seed in range(50)] == [draw_mutant(seed) for seed in range(50)]


# ---- the sweep sees what it is there to see


def outcome_of(monkeypatch, raised: BaseException) -> str:
    def fail(content: bytes) -> None:
        raise raised

    monkeypatch.setattr(tflite_fuzz_worker, "import_tflite", fail)
    return tflite_fuzz_worker.outcome_of(Mutant(b"", "nothing"), 0, 0)[0]


def test_kinds_of_refusals(monkeypatch):
    def refused(text: str) -> str:
        return outcome_of(monkeypatch, UnsupportedModelError(text))

    assert refused("operator 0 (ADD): no") == "refused"
    assert refused("its conversion failed, a fault in usmp: x") == "fault"
    assert refused("two\nlines of text") == "unclear message"
    assert refused("") == "unclear message"
    assert outcome_of(monkeypatch, KeyError(1)) == "exception"


WORKER = """
import os, sys, time
print('"ready"', flush=True)
print('[%s, "refused", "", "", 0]' % sys.argv[1], flush=True)
{rest}
"""


def outcomes_of_a_worker_that(monkeypatch, tmp_path, rest: str) -> list[str]:
    """Of two mutants, of which the second does `rest` to the process."""
    from support import tflite_fuzzing

    worker = tmp_path / "tflite_fuzz_worker.py"
    worker.write_text(WORKER.format(rest=rest))
    monkeypatch.setattr(tflite_fuzzing, "__file__", str(tmp_path / "tflite_fuzzing.py"))
    monkeypatch.setattr(tflite_fuzzing, "LONGEST_SECONDS", 1)
    return [outcome.kind for outcome in sweep(5, 2)]


def test_a_crash_ends_only_its_process(monkeypatch, tmp_path):
    kinds = outcomes_of_a_worker_that(monkeypatch, tmp_path, "os.kill(os.getpid(), 11)")
    assert kinds == ["refused", "crash (-11)"]


def test_a_hang_ends_only_its_process(monkeypatch, tmp_path):
    kinds = outcomes_of_a_worker_that(monkeypatch, tmp_path, "time.sleep(60)")
    assert kinds == ["refused", "hang"]


def test_the_process_imports_from_the_folders_of_this_one(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    rest = """print('[6, "%s", "", "", 0]' % os.environ["PYTHONPATH"], flush=True)"""
    kinds = outcomes_of_a_worker_that(monkeypatch, tmp_path, rest)
    assert kinds == ["refused", f"{tmp_path.parent}{os.pathsep}/elsewhere"]


def test_every_model_of_the_catalog_can_be_damaged():
    assert len(small_models()) > 900
