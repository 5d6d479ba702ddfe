"""The marks of a pool's drawing: where they are, what they read, and what takes the pointer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.map_views import buffer, memory_map, operator, pool
from usmp.report.memory_maps.vega_layout import Panel
from usmp.report.memory_maps.vega_marks import (
    blocks_marks,
    clipped,
    entry_marks,
    lines_marks,
    live_marks,
    operator_labels,
    operator_ticks,
)
from usmp.report.memory_maps.vega_panel import panel_group

PANEL = Panel(200, label_limit=100, has_live=True)
PLAIN = pool(buffer("x"))


def all_marks() -> Iterator[dict]:
    def within(marks):
        for mark in marks:
            yield mark
            yield from within(mark.get("marks", ()))

    drawn = memory_map(PLAIN, operators=[operator(0, (0, 2))])
    yield from within(panel_group(drawn, PLAIN, PANEL)["marks"])


def properties(mark):
    return mark["encode"]["update"]


def number(mark, name):
    return properties(mark)[name]["value"]


def test_only_blocks_take_the_pointer():
    reacting = [m for m in all_marks() if m["type"] != "group" and m.get("interactive", True)]
    assert [mark.get("name") for mark in reacting] == ["blocks"]
    assert properties(reacting[0])["cursor"] == {"value": "pointer"}


def test_each_mark_reads_data_of_its_panel():
    group = panel_group(memory_map(PLAIN), PLAIN, PANEL)
    names = {each["name"] for each in group["data"]}
    read = {mark["from"]["data"] for mark in all_marks() if "from" in mark}
    assert read < names


def test_lines_of_operators_go_through_both_drawings():
    picked, ticks = operator_ticks(PANEL)
    for mark in (picked, ticks):
        assert number(mark, "y") == 0
        assert number(mark, "y2") == PANEL.plot_height
    assert properties(picked)["x"]["signal"].endswith("state.operator[0]), 0, width) : 0")
    assert properties(picked)["x2"]["signal"].endswith("state.operator[1]), 0, width) : 0")


def test_lines_of_entries_go_through_the_addresses():
    line, name = entry_marks(PANEL)
    assert (number(line, "y"), number(line, "y2")) == (0, 200)
    # The name is right of its line, below the upper edge.
    assert properties(name)["x"]["offset"] > 0
    assert number(name, "y") > 0


@pytest.mark.parametrize(
    ("kind", "read_by", "opacity"),
    [("constant", (0,), 0.45), ("constant", (), 1), ("workspace", (0,), 1)],
)
def test_constants_are_pale_beside_the_times_at_which_they_are_read(kind, read_by, opacity):
    buffers = (buffer("v"), buffer("w", read_by=read_by))
    blocks = blocks_marks(pool(*buffers, kind=kind))[0]
    assert number(blocks, "fillOpacity") == opacity


def test_groups_show_nothing_outside_of_their_size():
    inner = [{"type": "rect"}]
    group = clipped(PANEL, inner)
    assert group["marks"] == inner
    assert number(group, "height") == 200 and number(group, "clip") is True
    live = live_marks(PANEL)
    assert number(live, "height") == PANEL.plot_height and number(live, "clip") is True
    (area,) = live["marks"]
    assert properties(area)["y2"] == {"scale": "live", "value": 0}
    assert number(area, "interpolate") == "step-after"


def test_texts_are_drawn_on_an_outline_and_can_be_read():
    texts = [mark for mark in all_marks() if mark["type"] == "text"]
    sizes = {mark["from"]["data"]: number(mark, "fontSize") for mark in texts}
    assert sizes == {"labels": 11, "entries": 11, "lines": 12, "named": 10}
    for data in ("labels", "lines"):
        behind, front = (mark for mark in texts if mark["from"]["data"] == data)
        assert "stroke" in properties(behind) and "fill" not in properties(behind)
        assert "fill" in properties(front) and "stroke" not in properties(front)
        assert number(behind, "strokeWidth") == 4
    (named,) = operator_labels(PANEL)
    # They hang below the addresses; narrow operators turn theirs, so that they do not meet.
    assert number(named, "y") > 200
    is_wide = "length(datum.label) * 6.4 + 12 <= datum.right - datum.left"
    signals = {name: properties(named)[name]["signal"] for name in ("angle", "align", "limit")}
    assert signals == {
        "angle": f"{is_wide} ? 0 : -55",
        "align": f"{is_wide} ? 'center' : 'right'",
        "limit": f"{is_wide} ? width : min(100, (datum.middle + 60) / 0.5736)",
    }


def test_lines_of_a_pool_reach_from_edge_to_edge_with_words_above():
    line, *words = lines_marks()
    assert number(line, "x") == 0 and properties(line)["x2"] == {"signal": "width"}
    assert number(line, "strokeWidth") == 1.5
    for mark in words:
        assert properties(mark)["y"] == {"scale": "y", "field": "bytes", "offset": -4}


def test_marks_of_overlaps_are_above_the_blocks_and_below_the_names():
    sources = [mark["from"]["data"] for mark in blocks_marks(PLAIN)]
    assert sources == ["blocks", "reads", "hatches", "overlaps", "labels", "labels"]
    hatch = blocks_marks(PLAIN)[2]
    assert number(hatch, "strokeWidth") == 0.8
    for mark in (blocks_marks(PLAIN)[n] for n in (0, 1, 3)):
        place = {name: properties(mark)[name]["field"] for name in ("x", "x2", "y", "y2")}
        assert place == {"x": "start", "x2": "stop", "y": "high", "y2": "low"}


def test_lines_that_mean_something_else_are_dashed_otherwise():
    line, _ = entry_marks(PANEL)
    assert number(line, "strokeDash") == [1, 3]
    (area,) = live_marks(PANEL)["marks"]
    assert number(area, "strokeWidth") == 0.6
