"""Small problems with every feature at once: the same optimum as OR-tools CP-SAT each time.

`benchmarks/solver_oracle.py` does the same for as many problems as you like.
"""

import pytest

from support import levels
from support.solver_judge import assert_best, drawn
from support.solver_problems import DrawnBuffer, DrawnProblem


@pytest.mark.slow
def test_the_best_plan_is_found_and_proved():
    seeds = levels.seeds(80, 1000)
    plans = sum(assert_best(drawn(seed)) for seed in seeds)
    # Neither kind is rare.
    assert len(seeds) / 2 < plans < len(seeds) * 0.95


def test_the_bound_of_one_component_is_not_rounded_to_the_unit_of_another():
    """The first needs 15 bytes; offsets of the other are multiples of 2 bytes, its peak 16 or 8."""
    buffers = (
        DrawnBuffer(15, 4, None, (0,), ()),
        DrawnBuffer(4, 2, None, (0,), ((9, 11),)),
        DrawnBuffer(4, 16, None, (0,), ((2, 7), (9, 12))),
        DrawnBuffer(3, 4, None, (0,), ()),
    )
    assert assert_best(DrawnProblem((45,), buffers, (), {}))
