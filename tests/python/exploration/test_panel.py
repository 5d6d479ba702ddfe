"""The drawing of a sweep: its axes and points."""

from __future__ import annotations

import pytest

from support.sweeps import built, sweep
from usmp.exploration.panel import panel_group, panels
from usmp.exploration.result import REFUSED, Result


def test_points():
    drawn = panels(sweep(built(3, 3), built(1, 1), Result(REFUSED, "no")))
    assert [panel.title for panel in drawn] == ["RAM and flash", "RAM and instructions"]
    assert panel_group(drawn[0])["data"][0]["values"] == [
        {"number": 1, "best": False, "x": 3, "y": 3},
        {"number": 2, "best": True, "x": 1, "y": 1},
    ]


def test_costs_that_are_not_known_of_all_are_not_drawn():
    drawn = panels(sweep(built(3, 3, None), built(1, 1)))
    assert [panel.title for panel in drawn] == ["RAM and flash"]
    assert panels(sweep(Result(REFUSED, "no"))) == []


@pytest.mark.parametrize(
    ("costs", "titles"),
    [
        ((10239, 10240, 9999), ["RAM (bytes)", "flash (KiB)", "instructions (a run, estimate)"]),
        (
            (10240, 10 << 20, 10_000),
            ["RAM (KiB)", "flash (MiB)", "instructions (thousands a run, estimate)"],
        ),
        (
            (10 << 20, 0, 10_000_000),
            ["RAM (MiB)", "flash (bytes)", "instructions (millions a run, estimate)"],
        ),
    ],
)
def test_units_have_short_numbers(costs, titles):
    flash, instructions = panels(sweep(built(*costs)))
    assert [flash.y.title, flash.x.title, instructions.x.title] == titles


def test_points_lie_between_the_ends_of_their_axes():
    flash, _ = panels(sweep(built(100, 20 << 10), built(200, 20 << 10), built(0, 20 << 10)))
    assert (flash.y.low, flash.y.high) == (0, 216)
    # Equal costs are in the middle.
    assert (flash.x.low, flash.x.high) == (19, 21)
