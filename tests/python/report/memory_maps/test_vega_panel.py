"""The drawing of one pool: its scales, axes, data and what is around it."""

from __future__ import annotations

import pytest

from support.map_views import buffer, memory_map, operator, pool
from usmp.report.memory_maps.vega_layout import LIVE_HEIGHT, Panel
from usmp.report.memory_maps.vega_panel import panel_group, panel_of, panel_signals

WORKSPACE = pool(buffer("x", 40, [(0, 2)]), buffer("y", 60, [(1, 4)], 40))
FLASH = pool(buffer("w", read_by=(1,)), name="flash", kind="constant")
PLACED = (operator(0), operator(1, (0, 2), read=("w",)))


def group(held=WORKSPACE, panel=None, operators=()):
    drawn = memory_map(held, operators=operators)
    return panel_group(drawn, held, panel or panel_of(drawn, held, 200))


def data(drawing, name):
    (found,) = (each for each in drawing["data"] if each["name"] == name)
    return found


def scale(drawing, name):
    (found,) = (each for each in drawing["scales"] if each["name"] == name)
    return found


@pytest.mark.parametrize(
    ("held", "operators", "expected"),
    [
        (WORKSPACE, (), Panel(200, 0, True)),
        (WORKSPACE, (operator(0),), Panel(200, 0, True)),
        (WORKSPACE, PLACED, Panel(200, 16, True)),
        (FLASH, PLACED, Panel(200, 16, False)),
    ],
)
def test_a_panel_has_room_for_what_is_known(held, operators, expected):
    assert panel_of(memory_map(held, operators=operators), held, 200) == expected


@pytest.mark.parametrize(
    ("label", "width", "limit"),
    [("x" * 20, 1000, 16), ("x" * 20, 100, 128), ("x" * 60, 100, 230), ("x" * 20, 5, 16)],
    ids=["horizontal", "rotated", "cut", "not shown"],
)
def test_the_band_of_names_is_as_high_as_rotated_names(label, width, limit):
    operators = (operator(0, (0, width), label=label), operator(1, (width, 1000)))
    drawn = memory_map(WORKSPACE, operators=operators, positions=1000)
    assert panel_of(drawn, WORKSPACE, 200).label_limit == limit


@pytest.mark.parametrize("limit", [0, 100])
@pytest.mark.parametrize("has_live", [False, True])
def test_axes_are_those_of_what_is_drawn(limit, has_live):
    drawing = group(panel=Panel(200, limit, has_live))
    titles = ["address (bytes)"]
    titles += ["live bytes"] * has_live
    titles += ["program position"] * (has_live or not limit)
    assert [axis["title"] for axis in drawing["axes"]] == titles
    # Bytes and positions are whole numbers.
    assert {axis["tickMinStep"] for axis in drawing["axes"]} == {1}
    assert all(axis["grid"] is True for axis in drawing["axes"] if axis["orient"] == "left")
    assert drawing["axes"][0]["zindex"] == 0


def test_titles_of_axes_are_in_the_middle_of_their_drawing():
    panel = Panel(200, 100, True)
    address, live, position = group(panel=panel)["axes"]
    assert address["titleY"] == 100
    assert live["titleY"] == panel.live_top + LIVE_HEIGHT / 2
    assert "titleY" not in position
    assert [axis["tickCount"] for axis in (address, live)] == [5, 2]
    assert {axis["labelFontSize"] for axis in (address, live, position)} == {11}
    assert {axis["titleFontSize"] for axis in (address, live, position)} == {11}


def test_marks_are_there_for_what_is_known():
    def sources(panel):
        found = [mark.get("from", {}).get("data") for mark in group(panel=panel)["marks"]]
        return "named" in found, group(panel=panel)["marks"][-1]["type"] == "group"

    for limit in (0, 100):
        for has_live in (False, True):
            assert sources(Panel(200, limit, has_live)) == (limit > 0, has_live)


def test_scales_fill_the_panel_and_addresses_grow_upwards():
    panel = Panel(200, 100, True)
    drawing = group(panel=panel)
    assert scale(drawing, "x")["range"] == [0, {"signal": "width"}]
    assert scale(drawing, "y")["range"] == [200, 0]
    live = scale(drawing, "live")
    assert live["range"] == [panel.live_top + LIVE_HEIGHT, panel.live_top]
    # Some room above the 100 bytes that are live at most.
    assert live["domain"] == [0, pytest.approx(105)]
    for name in ("x", "y", "live"):
        assert (scale(drawing, name)["zero"], scale(drawing, name)["nice"]) == (False, False)


def test_reads_are_drawn_of_constants_only():
    drawing = group(FLASH, operators=PLACED)
    assert len(data(drawing, "reads")["values"]) == 1
    read = pool(buffer("w", read_by=(1,)))
    assert data(group(read, operators=PLACED), "reads")["values"] == []


def test_data_are_the_buffers_and_operators():
    drawing = group(operators=PLACED)
    assert [row["name"] for row in data(drawing, "blocks")["values"]] == ["x", "y"]
    assert len(data(drawing, "operators")["values"]) == 1
    assert data(drawing, "entries")["values"] == []
    assert len(data(drawing, "lines")["values"]) == 2
    steps = data(drawing, "live")["values"]
    assert [(row["position"], row["live"]) for row in steps][:3] == [(0, 40), (1, 100), (2, 60)]
    sources = {name: data(drawing, name)["source"] for name in ("labels", "hatches", "ticks")}
    assert sources == {"labels": "blocks", "hatches": "overlaps", "ticks": "operators"}


def test_hatching_is_a_line_each_six_pixels():
    (steps,) = (
        step["expr"] for step in data(group(), "hatches")["transform"] if step.get("as") == "at"
    )
    assert steps == "sequence(6, datum.w + datum.h, 6)"


def test_at_first_all_is_visible_and_nothing_emphasized():
    signals = {each["name"]: each["value"] for each in panel_signals(memory_map(), WORKSPACE)}
    assert signals["xdom"] == [0, 4]
    assert signals["ydom"][0] == 0 and signals["ydom"][1] >= 100
    state = {"picked": -1, "related": None, "found": None, "operator": None, "colorBy": "kind"}
    assert signals["state"] == state
    nothing = panel_signals(memory_map(positions=0), WORKSPACE)
    assert {each["name"]: each["value"] for each in nothing}["xdom"] == [0, 1]


def test_names_lie_beside_what_outputs_overwrite():
    dying = buffer("x", 40, [(0, 4)])
    output = buffer("y", 40, [(3, 9)], overlaps={"x": 40})
    lower = buffer("z", 10, [(0, 4)], overlaps={"x": 10})
    areas = {
        row["name"]: row["named"]
        for held in (pool(dying, output), pool(dying, lower))
        for row in data(group(held), "blocks")["values"]
    }
    assert areas == {
        "x": {"start": 0, "stop": 4, "low": 10, "high": 40},
        "y": {"start": 4, "stop": 9, "low": 0, "high": 40},
        "z": {"start": 0, "stop": 4, "low": 0, "high": 10},
    }
    (before, _) = data(group(pool(dying, output)), "blocks")["values"]
    assert before["named"] == {"start": 0, "stop": 3, "low": 0, "high": 40}


@pytest.mark.parametrize(
    ("known", "name"),
    [
        ({"entries": ("kws",)}, "conv"),
        ({"entries": ("kws", "vww")}, "kws.conv"),
        ({"entries": ("vww",)}, "kws.conv"),
        ({"entries": ("kws",), "kind": "constant"}, "kws.conv"),
        ({}, "kws.conv"),
    ],
)
def test_names_are_without_the_entry_that_stands_above(known, name):
    (block,) = data(group(pool(buffer("kws.conv", **known))), "blocks")["values"]
    assert block["name"] == name
