"""A point in time at which searches end."""

from __future__ import annotations

import pickle

import pytest

from support.deadlines import NEVER, OVER
from usmp.support.deadline import Deadline, deadline_after, earliest, has_passed


def at(seconds: float, end: float) -> Deadline:
    """A deadline on a clock that stands still."""
    return Deadline(end, lambda: seconds)


def test_what_remains():
    assert (at(2, 5).remaining_seconds(), at(2, 5).is_over()) == (3, False)
    assert (at(5, 5).remaining_seconds(), at(5, 5).is_over()) == (0, True)
    assert (at(7, 5).remaining_seconds(), at(7, 5).is_over()) == (0, True)


def test_no_deadline_never_passes():
    assert [has_passed(deadline) for deadline in (None, NEVER, OVER)] == [False, False, True]


def test_a_solver_takes_no_budget_of_0():
    assert at(2, 5).search_seconds() == 3
    assert 0 < OVER.search_seconds() < 1e-6


def test_builds_divide_what_remains():
    assert [at(2, 10).share(builds).seconds for builds in (1, 2, 4)] == [10, 6, 4]
    assert at(12, 10).share(3).seconds == 12


def test_the_earliest_is_the_one_with_the_least_time():
    later = at(100, 102)
    assert earliest(None, later, NEVER, None) is NEVER
    assert earliest(later, at(0, 3)) is later
    assert earliest(None) is None


def test_a_budget_begins_with_the_command():
    assert deadline_after(None) is None
    assert deadline_after("1.5min", 10.0) == Deadline(100.0)
    assert deadline_after("1h").remaining_seconds() > 3000
    with pytest.raises(ValueError, match='"soon" is no duration'):
        deadline_after("soon")


def test_it_can_be_sent_to_another_process():
    assert pickle.loads(pickle.dumps(Deadline(3.0))) == Deadline(3.0)
