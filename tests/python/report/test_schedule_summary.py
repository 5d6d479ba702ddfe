"""What the summary says of tiles."""

from __future__ import annotations

from usmp.report.schedule_summary import schedule_sentence


def metadata(**choices):
    operators = [
        {"schedules": [{"tile": "1 pixel x 4 channels", "instructions": 10}]},
        {"schedules": [{"tile": "2 pixels x 2 channels"}]},
        {},
        {"schedules": [{"tile": "2 pixels x 2 channels"}]},
    ]
    return {"operators": operators, "schedule_choices": choices}


def takes(peak_bytes, instructions):
    return {"peak_bytes": peak_bytes, "instructions": instructions}


TILES = "2 pixels x 2 channels (2), 1 pixel x 4 channels (1)"


def test_no_choice():
    assert schedule_sentence({"operators": []}) is None


def test_goals_that_take_the_same():
    said = metadata(
        optimize="ram",
        ram=takes(1000, 200),
        balanced=takes(1026, 190),
        speed=takes(1026, 190),
    )
    assert schedule_sentence(said) == (
        f"Tiles of operators, by tir.usmp.optimize=ram: {TILES}; balanced or speed would take "
        "1026 bytes of workspace (+2.6 %) and about 5 % fewer instructions in them."
    )


def test_each_goal_takes_something_else():
    said = metadata(
        optimize="balanced",
        ram=takes(1000, 200),
        balanced=takes(1050, 180),
        speed=takes(2000, 160),
    )
    assert schedule_sentence(said) == (
        f"Tiles of operators, by tir.usmp.optimize=balanced: {TILES}; ram would take "
        "1000 bytes of workspace (-4.8 %) and about 11 % more instructions in them; speed would "
        "take 2000 bytes of workspace (+90.5 %) and about 11 % fewer instructions in them."
    )


def test_the_goals_differ_in_nothing():
    said = metadata(optimize="speed", **dict.fromkeys(("ram", "balanced", "speed"), takes(8, 2)))
    assert schedule_sentence(said) == f"Tiles of operators, by tir.usmp.optimize=speed: {TILES}."


def test_only_one_goal_was_planned():
    said = metadata(optimize="speed", speed=takes(0, 0))
    assert schedule_sentence(said) == f"Tiles of operators, by tir.usmp.optimize=speed: {TILES}."
