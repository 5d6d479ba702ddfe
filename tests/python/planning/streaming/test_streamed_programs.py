"""Random programs compute the same with any of their operators interleaved, each element once."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tvm import tirx

from support.levels import number
from support.planned_programs import plan
from support.random_segments import possible_segments, random_segments
from support.random_streamed_graphs import draw_streamed
from support.streamed_graphs import counted_run
from usmp.transform import StreamOperators

pytestmark = pytest.mark.slow

DRAWN = {
    "deadline": None,
    "derandomize": True,
    "phases": [Phase.generate],
    "suppress_health_check": list(HealthCheck),
}


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=number(6, 60), **DRAWN)
def test_streamed_programs_compute_the_same(seed):
    """Also how many elements each operator makes is the same."""
    random = Random(seed)
    program = draw_streamed(random)
    expected = counted_run(program, program.mod)
    possible = possible_segments(program.mod)
    for segment in random.sample(possible, min(3, len(possible))):
        streamed = StreamOperators([segment], random.random() < 0.5)(program.mod)
        assert tirx.analysis.verify_well_formed(streamed)
        assert counted_run(program, streamed) == expected, segment


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=number(5, 50), **DRAWN)
def test_planned_streamed_programs_compute_the_same(seed):
    """Also where what is written overlaps what is read."""
    random = Random(seed)
    program = draw_streamed(random)
    segments = random_segments(random, program.mod)
    streamed = StreamOperators(segments, random.random() < 0.5)(program.mod)
    planned = plan(replace(program, mod=streamed), "auto")
    assert planned is not None
    assert counted_run(program, planned) == counted_run(program, program.mod)


def test_most_programs_have_segments():
    """Else the tests above would show nothing."""
    found = [possible_segments(draw_streamed(Random(seed)).mod) for seed in range(12)]
    assert sum(map(bool, found)) >= 8
