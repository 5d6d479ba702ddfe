"""1000 small problems with every feature at once: the same optimum as OR-tools CP-SAT each time.

`benchmarks/solver_oracle.py` does the same for as many problems as you like.
"""

import pytest

from solver_judge import assert_best, drawn

PROBLEMS = 1000
SHARES = 10


@pytest.mark.parametrize("share", range(SHARES))
def test_the_best_plan_is_found_and_proved(share):
    plans = sum(assert_best(drawn(seed)) for seed in range(share, PROBLEMS, SHARES))
    # Neither kind is rare.
    assert PROBLEMS / SHARES / 2 < plans < PROBLEMS / SHARES * 0.95
