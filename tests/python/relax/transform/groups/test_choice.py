"""Which of the groups of a module are split: those that let fewer bytes live at once."""

from __future__ import annotations

import pytest
from tvm import relax

from usmp.planning.options import PlanningOptions
from usmp.relax.transform.groups import choice

A, B = (relax.Var(name, relax.TensorType([4], "float32")) for name in "ab")


@pytest.mark.parametrize(
    ("whole", "both", "a_alone", "b_alone", "expected"),
    [
        # Splitting pays by nothing, or takes more.
        (8, 8, 4, 4, "whole"),
        (8, 9, 4, 4, "whole"),
        # Each of them is needed.
        (8, 6, 7, 7, "ab"),
        # One of them makes no difference, or takes more.
        (8, 6, 6, 8, "a"),
        (8, 6, 5, 8, "a"),
        (8, 6, 8, 6, "b"),
        (8, 6, 8, 5, "b"),
        # Either would do: the first one that may stay whole does.
        (8, 6, 6, 6, "b"),
    ],
)
def test_groups_that_need_not_be_split_stay_whole(
    monkeypatch, whole, both, a_alone, b_alone, expected
):
    peaks = {"whole": whole, "ab": both, "a": a_alone, "b": b_alone, "": whole}
    monkeypatch.setattr(choice, "groups_in_pieces", lambda mod: {A: ["pieces"], B: ["pieces"]})
    monkeypatch.setattr(choice, "with_pieces", lambda mod, groups: "".join(v.name for v in groups))
    monkeypatch.setattr(choice, "estimated_peak", lambda mod, options: peaks[mod])
    positions = {"whole": (), "a": (0,), "b": (1,), "ab": (0, 1)}
    assert choice.groups_to_split("whole", PlanningOptions()) == positions[expected]


def test_a_module_without_groups_stays_as_it_is(monkeypatch):
    monkeypatch.setattr(choice, "groups_in_pieces", lambda mod: {})
    assert choice.groups_to_split("whole", PlanningOptions()) == ()
