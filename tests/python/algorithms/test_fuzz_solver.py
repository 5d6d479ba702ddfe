"""The solver on problems that libFuzzer makes up, judged by the reference of its unit tests.

`benchmarks/fuzz_solver.py` does the same for as long as you like, with optimized code. Here most of
the time goes into compiling it.
"""

import pytest

from support.compilers import require
from support.solver_fuzzing import build, can_build, fuzz

RUNS = 1000
MOST_SECONDS = 10


@pytest.mark.cc
def test_no_problem_makes_the_solver_err(tmp_path):
    require("clang++")
    if not can_build(tmp_path):
        pytest.skip("clang++ lacks libFuzzer (apt-get install libclang-rt-dev)")
    outcome = fuzz(
        build(tmp_path, "-O0"),
        seconds=MOST_SECONDS,
        seed=1,
        corpus=tmp_path / "corpus",
        runs=RUNS,
    )
    assert outcome.failure == ""
    assert outcome.executions > 0  # How many there are in that time is up to the machine.
