"""Programs of operators whose buffers overlap, run before and after planning."""

from random import Random

import pytest

from support.levels import number
from support.overlap_chains import draw_chain
from support.planned_programs import check_planned, expected_results, plan
from usmp.objects.attributes.module_attributes import MEMORY_PLAN_ATTR


@pytest.mark.slow
def test_planned_chains_compute_the_same():
    """Also where an output overwrites an input while that is read, which most plans do."""
    overlaps = []
    for seed in range(number(10, in_long_run=100)):
        program = draw_chain(Random(seed))
        assert check_planned(program, "auto", expected_results(program))
        placed = plan(program, "auto").attrs[MEMORY_PLAN_ATTR.name].buffers
        overlaps.append(any(dict(buffer.overlaps) for buffer in placed))
    assert sum(overlaps) > 0.5 * len(overlaps)
