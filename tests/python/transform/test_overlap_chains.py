"""Programs of operators whose buffers overlap, run before and after planning."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overlap_chains import draw_chain
from planned_programs import check_planned, expected_results, plan
from usmp.objects.attributes import MEMORY_PLAN_ATTR


def test_planned_chains_compute_the_same():
    """Also where an output overwrites an input while that is read, which most plans do."""
    overlaps = []

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.randoms(use_true_random=False))
    def check(random):
        program = draw_chain(random)
        assert check_planned(program, "auto", expected_results(program))
        placed = plan(program, "auto").attrs[MEMORY_PLAN_ATTR].buffers
        overlaps.append(any(dict(buffer.overlaps) for buffer in placed))

    check()
    assert sum(overlaps) > 0.3 * len(overlaps)
