"""What the record says of each choice that was not taken, and why."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tvm.ir import IRModule

from usmp.objects.attributes.compared import Alternative, Compared
from usmp.planning.search import Choice, Leaf
from usmp.planning.search.record import compared_leaves

MOD = IRModule({})


def compared(best, *others, details=None):
    """The record of a race with these leaves."""
    leaves = [leaf for leaf in (best, *others) if leaf is not None]
    race = SimpleNamespace(
        stage=SimpleNamespace(name="order"),
        taken=best.choice if best else None,
        leaves=leaves,
        best=best,
    )
    return compared_leaves(race, details or {})


def leaf(label, peaks=None, mod=MOD, **others):
    return Leaf(Choice(label, label), mod, mod, peaks, **others)


@pytest.mark.parametrize(
    ("other", "alternative"),
    [
        (leaf("b", (11,)), Alternative("b", "larger", 11)),
        (leaf("b", (4, 6)), Alternative("b", "slower", 10)),
        (leaf("b", (10,)), Alternative("b", "equal", 10)),
        (leaf("b"), Alternative("b", "no plan")),
        (leaf("b", low=(12, 3)), Alternative("b", "bound", None, 15)),
        (Leaf(Choice("b", "b", (), 13), None), Alternative("b", "bound", None, 13)),
        (
            leaf("b", mod=None, error=ValueError("no such form\nmore")),
            Alternative("b", "refused: no such form"),
        ),
    ],
)
def test_an_alternative_has_its_bytes_and_the_reason(other, alternative):
    assert compared(leaf("a", (10,)), other) == Compared("order", "a", 10, (alternative,))


def test_without_any_plan_nothing_is_proved():
    other = leaf("b", low=(12,))
    assert compared(leaf("a"), other) == Compared(
        "order", "a", None, (Alternative("b", "no plan"),)
    )


def test_one_choice_is_a_line_only_with_details():
    assert compared(leaf("a", (10,))) is None
    assert compared(leaf("a", (10,)), details={"x": 1}) == Compared(
        "order", "a", 10, (), "", {"x": 1}
    )
    assert compared(None, details={"x": 1}) is None
