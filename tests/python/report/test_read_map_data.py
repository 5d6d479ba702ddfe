"""The memory map is what the metadata says, or the metadata is refused."""

from __future__ import annotations

import pytest

from usmp.report.map_data import Measured, Overlap
from usmp.report.read_map_data import map_of_metadata


def buffer(name="x", **known):
    return {
        "name": name,
        "kind": "intermediate",
        "function": "f",
        "offset": 0,
        "size": 4,
        "alignment": 4,
        "live_ranges": [[0, 2]],
        "overlaps": {},
        **known,
    }


def pool(*buffers, **known):
    return {
        "name": "sram",
        "kind": "workspace",
        "size_hint_bytes": -1,
        "peak_bytes": 12,
        "lower_bound_bytes": 8,
        "memory_pressure_bytes": 10,
        "optimal": False,
        "live_at_peak": [],
        "buffers": list(buffers) or [buffer()],
        **known,
    }


def main(**known):
    return {"io_size_bytes": 3, "inputs": {}, "outputs": {}, **known}


def metadata(*pools, mains=None, memory=None, **known):
    functions = {"main": [main()] if mains is None else mains}
    held = {"algorithm": "auto", "pools": list(pools), "functions": functions, **(memory or {})}
    return {"model_name": "net", "memory": held, **known}


def operator(**known):
    return {"entry": "main", "functions": ["f"], **known}


def read(*pools, **known):
    return map_of_metadata(metadata(*pools, **known))


def read_pool(**known):
    return read(pool(**known), operators=[operator(), operator()]).pools[0]


def read_buffer(operators=(), **known):
    return read(pool(buffer(**known)), operators=list(operators)).pools[0].buffers[0]


def read_operator(of_model=(), **known):
    found = read(operators=[operator(), operator(**known)], model_operators=list(of_model))
    return found.operators[1]


def message(*pools, **known):
    with pytest.raises(ValueError, match="the metadata of the module is damaged: ") as error:
        read(*pools, **known)
    text = str(error.value)
    assert text.endswith("; compile the model again")
    return text.removeprefix("the metadata of the module is damaged: ").partition(" (")[0]


def test_figures_of_the_module_are_read():
    drawn = read(memory={"ram": {"size_bytes": 9, "io_size_bytes": 0, "state_size_bytes": 2}})
    assert (drawn.module, drawn.algorithm) == ("net", "auto")
    assert (drawn.ram_bytes, drawn.io_bytes, drawn.state_bytes) == (9, 0, 2)
    earlier = read()
    assert (earlier.ram_bytes, earlier.io_bytes, earlier.state_bytes) == (None, None, None)
    assert (earlier.positions, earlier.pools, earlier.operators) == (0, (), ())


def test_written_pools_come_first_and_empty_ones_are_left_out():
    flash = [pool(name=name, kind="constant", peak_bytes=5) for name in ("flash", "rom")]
    drawn = read(*flash, pool(), pool(name="empty", buffers=[]), pool(name="fast"))
    assert [each.name for each in drawn.pools] == ["sram", "fast", "flash", "rom"]
    assert drawn.constants_bytes == 10


def test_positions_end_with_the_last_buffer_or_operator():
    assert read(pool(buffer(live_ranges=[[3, 5], [0, 1]]))).positions == 5
    placed = [operator(start=0, stop=9), operator()]
    assert read(pool(buffer(live_ranges=[[3, 5]])), operators=placed).positions == 9


@pytest.mark.parametrize(
    ("known", "field", "value"),
    [
        ({}, "limit_bytes", None),
        ({"size_hint_bytes": 0}, "limit_bytes", 0),
        ({"size_hint_bytes": 7}, "limit_bytes", 7),
        ({}, "io", "any"),
        ({"io": "only"}, "io", "only"),
        ({"optimal": True}, "is_optimal", True),
        ({}, "peak_bytes", 12),
        ({}, "lower_bound_bytes", 8),
        ({}, "memory_pressure_bytes", 10),
        ({"live_at_peak": ["x"]}, "live_at_peak", ("x",)),
        ({}, "peak_operator", None),
        ({"peak_operator": 1}, "peak_operator", 1),
        ({}, "address", None),
        ({"first_byte": 3}, "address", None),
        ({"address": 0}, "address", 0),
        ({"address": 16, "first_byte": 3}, "address", 19),
    ],
)
def test_figures_of_a_pool_are_read(known, field, value):
    assert getattr(read_pool(**known), field) == value


def test_a_buffer_is_read():
    found = read_buffer(offset=1, size=2, alignment=8, overlaps={"y": {"shared": 3, "distance": 4}})
    assert (found.offset_bytes, found.size_bytes, found.alignment_bytes) == (1, 2, 8)
    assert found.live_ranges == ((0, 2),) and found.overlaps == (Overlap("y", 3, 4),)
    assert (found.written_by, found.read_by, found.is_ring) == ((), (), False)


def test_operators_of_a_buffer_are_all_that_use_it():
    operators = [
        operator(buffers={"read": ["x"], "written": ["y"]}),
        operator(),
        operator(buffers={"read": ["x", "y"], "written": ["x"]}),
    ]
    found = read_buffer(operators)
    assert (found.read_by, found.written_by) == ((0, 2), (2,))


@pytest.mark.parametrize(
    ("name", "function", "segments", "is_ring"),
    [
        ("x_ring", "f", [{}], True),
        ("x_ring_2", "f", [{}], True),
        ("x_ring2", "f", [{}], True),
        ("x_ring", "g", [{}], False),
        ("x_ring", "f", [], False),
        ("x_ring_a", "f", [{}], False),
        ("x", "f", [{}], False),
        ("ring", "f", [{}], False),
    ],
)
def test_a_ring_is_known_by_its_name_and_function(name, function, segments, is_ring):
    one = operator(functions=["e", "f"], segments=segments)
    assert read_buffer([one], name=name, function=function).is_ring is is_ring


def test_an_operator_is_named_by_the_model_or_by_what_it_computes():
    model = [
        {"entry": "main", "index": 3, "type": "ADD", "inputs": ["a"], "outputs": [{"name": "b"}]}
    ]
    assert read_operator(model, model_operators=[0]).label == "3 ADD"
    assert read_operator(steps=[{"kind": "conv2d"}, {"kind": "add"}]).label == "1 conv2d + add"
    assert read_operator(functions=["f", "g"]).label == "1 f + g"
    origin = read(model_operators=model).model_operators[0]
    assert (origin.name, origin.graph, origin.inputs, origin.outputs) == (None, 0, ("a",), ("b",))
    named = read(model_operators=[{**model[0], "name": "n", "graph": 2}]).model_operators[0]
    assert (named.name, named.graph, named.index) == ("n", 2, 3)


@pytest.mark.parametrize(
    ("known", "field", "value"),
    [
        ({}, "number", 1),
        ({}, "positions", None),
        ({"start": 2, "stop": 2}, "positions", (2, 2)),
        ({"start": 2, "stop": 5}, "positions", (2, 5)),
        ({}, "macs", None),
        ({"macs": 0}, "macs", 0),
        ({"macs": None}, "macs", None),
        ({"weights_size_bytes": 6}, "weights_bytes", 6),
        ({}, "live_bytes", {}),
        ({"live_bytes": {"sram": 4}}, "live_bytes", {"sram": 4}),
        ({}, "read", ()),
        ({"buffers": {"read": ["x"], "written": ["y"]}}, "written", ("y",)),
        ({}, "measured", None),
        ({"measured": {"cost": 0, "unit": "ns", "runs": 3}}, "measured", Measured(0, "ns", 3)),
        (
            {"measured": {"cost": 1.5, "unit": "cycles", "runs": 0}},
            "measured",
            Measured(1.5, "cycles", 0),
        ),
        ({}, "instructions", None),
        ({"schedules": [{"instructions": 5}]}, "instructions", 5),
        ({"schedules": [{}]}, "instructions", None),
        # Of one of two functions it is not known.
        ({"functions": ["f", "g"], "schedules": [{"instructions": 5}]}, "instructions", None),
        ({"functions": ["f", "g"], "schedules": [{"instructions": 5}, {}]}, "instructions", None),
        (
            {"functions": ["f", "g"], "schedules": [{"instructions": 5}, {"instructions": 2}]},
            "instructions",
            7,
        ),
    ],
)
def test_facts_of_an_operator_are_read_if_they_are_there(known, field, value):
    assert getattr(read_operator(**known), field) == value


def test_entries_are_read_with_their_sizes():
    (only,) = read(pool(buffer(live_ranges=[[0, 6]]))).entries
    assert (only.name, only.positions, only.peak_bytes) == ("main", (0, 6), {})
    assert (only.io_bytes, only.state_bytes) == (3, 0)
    described = main(
        entry="step",
        positions=[1, 4],
        workspace_pools={"sram": 8},
        state_size_bytes=2,
        inputs={"x": {"size": 3}, "r": {"size": 6, "by_rows": {"rows": 2, "row_size": 3}}},
        outputs={"y": {"size": None}},
    )
    (step,) = read(mains=[described]).entries
    assert (step.name, step.positions, step.peak_bytes) == ("step", (1, 4), {"sram": 8})
    assert (step.state_bytes, step.inputs, step.outputs) == (2, {"x": 3, "r": 0}, {"y": 0})
    (peak,) = read(mains=[{**described, "peak_bytes": {"sram": 6}}]).entries
    assert peak.peak_bytes == {"sram": 6}


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"peak_bytes": -1}, '"peak_bytes" is no number of 0 or more'),
        ({"peak_bytes": True}, '"peak_bytes" is no number of 0 or more'),
        ({"peak_bytes": 1.0}, '"peak_bytes" is no number of 0 or more'),
        ({"peak_bytes": 2**63}, '"peak_bytes" is a number of more than 63 bits'),
        ({"size_hint_bytes": -2}, '"size_hint_bytes" is no number of 0 or more'),
        ({"name": 1}, '"name" is no text'),
        ({"kind": "other"}, '"kind" is none of workspace, constant'),
        ({"io": "any"}, '"io" is none of only, no'),
        ({"live_at_peak": "x"}, '"live_at_peak" is no list of texts'),
        ({"live_at_peak": [1]}, '"live_at_peak" is no list of texts'),
        ({"peak_operator": 2}, "position 2 of 2 operators"),
        ({"peak_operator": -1}, '"position" is no number of 0 or more'),
        ({"buffers": [buffer(live_ranges=[[1, 1]])]}, "a live range at 1 is empty"),
        ({"buffers": [buffer(live_ranges=[[2, 1]])]}, "2 to 1 is no range of positions"),
        ({"buffers": [buffer(live_ranges=[[1]])]}, "a range of positions is no pair"),
        ({"buffers": [buffer(live_ranges=["12"])]}, "a range of positions is no pair"),
        (
            {"buffers": [buffer(kind="heap")]},
            '"kind" is none of input, output, intermediate, scratch, state, constant',
        ),
    ],
)
def test_a_damaged_pool_is_refused(known, expected):
    operators = [operator(), operator()]
    assert message(pool(**known), operators=operators) == expected


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        ({"cost": -1}, '"cost" is no number of 0 or more with 63 bits at most'),
        ({"cost": True}, '"cost" is no number of 0 or more with 63 bits at most'),
        ({"cost": "1"}, '"cost" is no number of 0 or more with 63 bits at most'),
        ({"cost": 2**63}, '"cost" is no number of 0 or more with 63 bits at most'),
        ({"cost": float("nan")}, '"cost" is no number of 0 or more with 63 bits at most'),
        ({"cost": 1, "unit": "hours"}, '"unit" is none of ns, instructions, cycles'),
    ],
)
def test_damaged_measurements_are_refused(measured, expected):
    described = {"unit": "ns", "runs": 1, **measured}
    assert message(operators=[operator(measured=described)]) == expected


def test_the_largest_numbers_are_read():
    assert read_pool(peak_bytes=2**63 - 1).peak_bytes == 2**63 - 1
    most = 2**63 - 1
    measured = {"cost": most, "unit": "ns", "runs": 1}
    assert read_operator(measured=measured).measured.cost == most


def test_what_is_missing_is_named():
    assert message(operators=[{}]) == "'functions'"
    described = metadata()
    del described["memory"]["functions"]
    with pytest.raises(ValueError, match="'functions' \\(KeyError\\)"):
        map_of_metadata(described)
    assert message(operators=[operator(model_operators=[0])]) == "position 0 of 0 operators"
