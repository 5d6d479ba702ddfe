"""The solver on problems that libFuzzer makes up, judged by the reference of its unit tests.

`benchmarks/fuzz_solver.py` does the same for as long as you like, with optimized code. A long run
of tests compiles the solver with sanitizers; else its library is as it is installed.
"""

import pytest

from support import levels
from support.compilers import require
from support.solver_fuzzing import build, build_with_library, can_build, fuzz


@pytest.mark.slow
@pytest.mark.cc
def test_no_problem_makes_the_solver_err(tmp_path):
    require("clang++")
    if not can_build(tmp_path):
        pytest.skip("clang++ lacks libFuzzer (apt-get install libclang-rt-dev)")
    program = (build if levels.is_long_run() else build_with_library)(tmp_path)
    outcome = fuzz(
        program,
        seconds=levels.number(10, 120),
        seed=levels.seeds(1, 1).start + 1,
        corpus=tmp_path / "corpus",
        runs=levels.number(300, 100_000),
    )
    assert outcome.failure == ""
    assert outcome.executions > 0  # How many there are in that time is up to the machine.
