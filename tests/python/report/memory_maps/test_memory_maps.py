"""The memory map of a module's metadata: facts, JSON, CSV, pictures and text."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from copy import deepcopy
from functools import cache
from importlib.resources import files
from itertools import combinations
from types import SimpleNamespace
from xml.etree import ElementTree

import jsonschema
import pytest
from rich.cells import cell_len
from rich.console import Console

from support.memory_metadata import synthetic_metadata
from usmp.names import REPORTS
from usmp.report import (
    map_document,
    map_of_metadata,
    memory_map,
    print_memory_map,
    report_bytes,
    with_measured_costs,
)
from usmp.report.memory_maps import ReportExtraMissing, map_page, map_text
from usmp.report.memory_maps.drawing import live_bytes, overlaps
from usmp.report.memory_maps.pictures import picture_spec
from usmp.report.plan_formats import CSV_COLUMNS
from usmp.report.write_report import WRITERS
from usmp.runtime.operator_profile import OperatorProfile, Profile
from usmp.support.distribution import install_command

METADATA = synthetic_metadata(60)


@cache
def written(ending: str) -> bytes:
    """The report of an ending, drawn once."""
    return report_bytes(METADATA, ending)


SCHEMA = json.loads(files("usmp.report.memory_maps").joinpath("memory_map.schema.json").read_text())


def buffers_of(metadata: dict, pool: int) -> list[dict]:
    return metadata["memory"]["pools"][pool]["buffers"]


def _main(metadata: dict) -> dict:
    return metadata["memory"]["functions"]["main"][0]


def test_the_metadata_for_tests_is_a_valid_plan():
    for one, other in combinations(buffers_of(METADATA, 1), 2):
        (start, stop), (begin, end) = one["live_ranges"][0], other["live_ranges"][0]
        is_together = start < end and begin < stop
        low = max(one["offset"], other["offset"])
        high = min(one["offset"] + one["size"], other["offset"] + other["size"])
        if is_together and low < high:
            assert other["overlaps"][one["name"]]["shared"] == high - low
            assert other["offset"] + other["overlaps"][one["name"]]["distance"] <= one["offset"]


@pytest.mark.slow
def test_the_json_has_the_figures_of_the_metadata_and_fits_the_schema():
    document = json.loads(report_bytes(METADATA, ".json"))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(document, SCHEMA)
    assert (document["schema"], document["version"]) == ("usmp.memory-map", 1)
    workspace, constants = document["pools"]
    assert [b["size_bytes"] for b in workspace["buffers"]] == [
        b["size"] for b in buffers_of(METADATA, 1)
    ]
    assert workspace["peak_bytes"] == METADATA["memory"]["pools"][1]["peak_bytes"]
    assert workspace["buffers"][4]["written_by"] == [4]
    assert workspace["buffers"][4]["read_by"] == [5]
    assert constants["buffers"][4]["read_by"] == [4]
    assert document["operators"][4]["label"] == "4 CONV_2D"
    assert document["constants_bytes"] == sum(o["weights_bytes"] for o in document["operators"])


@pytest.mark.slow
def test_what_was_measured_is_beside_what_is_known():
    operators = [OperatorProfile(n, "main", (), (), (), (), None, 10.5 * n) for n in range(20)]
    profile = Profile("net", "main", "cycles", 3, tuple(operators))
    metadata = with_measured_costs(METADATA, profile)
    assert "measured" not in METADATA["operators"][0]
    document = map_document(map_of_metadata(metadata))
    jsonschema.validate(document, SCHEMA)
    found = [operator["measured"] for operator in document["operators"]]
    assert found[3] == {"cost": 31.5, "unit": "cycles", "runs": 3}
    assert found[20:] == [None] * 10
    module = SimpleNamespace(metadata=METADATA)
    assert '">Clock cycles measured</th>' in memory_map(module, profile)
    assert "Clock cycles measured" not in memory_map(module)
    (event,) = (
        event
        for event in json.loads(report_bytes(metadata, ".perfetto.json"))["traceEvents"]
        if event.get("args", {}).get("cycles measured") == 31.5
    )
    assert event["cat"] == "operator"


def test_metadata_of_earlier_archives_has_no_operators():
    metadata = deepcopy(METADATA)
    del metadata["model_operators"]
    for operator in metadata["operators"]:
        for key in ("model_operators", "start", "stop", "live_bytes", "buffers"):
            del operator[key]
        del operator["weights_size_bytes"]
    document = map_document(map_of_metadata(metadata))
    jsonschema.validate(document, SCHEMA)
    assert [o["label"] for o in document["operators"]] == [f"{n} conv2d" for n in range(30)]
    assert all(b["written_by"] == [] for pool in document["pools"] for b in pool["buffers"])
    del metadata["operators"], metadata["memory"]["ram"]
    assert map_of_metadata(metadata).operators == ()
    assert "does not say which operators it runs" in map_page(map_of_metadata(metadata))
    assert '"tensor_0"' in json.dumps(picture_spec(map_of_metadata(metadata), "light"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda m: m["memory"].pop("pools"), "'pools' (KeyError)"),
        (lambda m: buffers_of(m, 1)[0].update(size=-1), '"size" is no number of 0 or more'),
        (lambda m: buffers_of(m, 1)[0].update(kind="x"), '"kind" is none of input, output'),
        (
            lambda m: buffers_of(m, 1)[0].update(live_ranges=[[1]]),
            "a range of positions is no pair",
        ),
        (
            lambda m: buffers_of(m, 1)[0].update(live_ranges=[[3, 2]]),
            "3 to 2 is no range of positions",
        ),
        (lambda m: buffers_of(m, 1)[0].update(live_ranges=[[3, 3]]), "a live range at 3 is empty"),
        (lambda m: buffers_of(m, 1)[0].update(size=1 << 63), '"size" is a number of more than 63'),
        (lambda m: m["operators"][0].update(model_operators=[30]), "position 30 of 30 operators"),
        (lambda m: m["operators"][0].update(functions="abc"), '"functions" is no list of texts'),
        (lambda m: _main(m).update(workspace_pools={"x": "y"}), '"x" is no number of 0 or more'),
        (lambda m: _main(m).update(entry=7), '"entry" is no text'),
        (lambda m: m.update(operators=3), "'int' object is not iterable"),
        (
            lambda m: m["operators"][0].update(measured={"cost": float("nan")}),
            '"cost" is no number',
        ),
        (lambda m: m["operators"][0].update(measured={"cost": -1}), '"cost" is no number of 0'),
        (
            lambda m: m["operators"][0].update(measured={"cost": 1, "unit": "s", "runs": 1}),
            '"unit" is none of ns, instructions, cycles',
        ),
        (lambda m: m["memory"].update(pools=[]) or m.update(model_name=None), "is no text"),
    ],
)
def test_damaged_metadata_is_refused(damage, message):
    metadata = deepcopy(METADATA)
    damage(metadata)
    with pytest.raises(ValueError, match="the metadata of the module is damaged: ") as error:
        map_of_metadata(metadata)
    assert message in str(error.value)


def test_the_csv_is_that_of_the_plan_with_operators():
    rows = list(csv.DictReader(io.StringIO(report_bytes(METADATA, ".csv").decode())))
    assert tuple(rows[0]) == CSV_COLUMNS
    by_name = {row["name"]: row for row in rows}
    assert len(by_name) == 60
    row = by_name["tensor_4"]
    expected = buffers_of(METADATA, 1)[4]
    assert (int(row["offset"]), int(row["size"])) == (expected["offset"], expected["size"])
    assert (row["written_by"], row["read_by"]) == ("4 CONV_2D", "5 DEPTHWISE_CONV_2D")


def test_live_bytes_and_overlaps_are_what_buffers_say():
    drawn = map_of_metadata(METADATA)
    pool = drawn.pools[0]
    assert (
        max(row["live"] for row in live_bytes(pool, drawn.positions)) == pool.memory_pressure_bytes
    )
    found = {pool.buffers[row["id"]].name: row for row in overlaps(pool)}
    assert len(found) > 3
    for name, row in found.items():
        (overlap,) = next(b for b in pool.buffers if b.name == name).overlaps
        assert row["high"] - row["low"] == overlap.shared_bytes


@pytest.mark.slow
def test_pictures_are_the_same_each_time_and_have_all_names():
    drawn = map_of_metadata(METADATA)
    again = map_of_metadata(deepcopy(METADATA))
    assert picture_spec(drawn, "light") == picture_spec(again, "light")
    svg = ElementTree.fromstring(written(".svg"))
    texts = [element.text for element in svg.iter() if element.text]
    peak, bound = drawn.pools[0].peak_bytes, drawn.pools[0].lower_bound_bytes
    for text in (f"peak {peak} bytes", f"lower bound {bound}", "tensor_0", "0 CONV_2D"):
        assert text in texts
    for pool in drawn.pools:
        proved = ", proved optimal" if pool.is_optimal else ""
        assert f"{pool.name}: {pool.peak_bytes} bytes{proved}" in texts
    assert {pool.is_optimal for pool in drawn.pools} == {False, True}
    assert written(".png").startswith(b"\x89PNG")


@pytest.mark.parametrize("ending", [".html", ".svg", ".png"])
def test_without_the_extra_the_error_says_how_to_install_it(ending, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.setattr("usmp.report.offline_pages.offline_page.vega_javascript", _uncached())
    with pytest.raises(ReportExtraMissing, match=re.escape(install_command("report"))):
        report_bytes(METADATA, ending)
    for other in (".json", ".csv"):
        assert report_bytes(METADATA, other)


def _uncached():
    from usmp.report.offline_pages.vega import vega_javascript

    return vega_javascript.__wrapped__


@pytest.mark.slow
def test_the_page_is_small_and_fetches_nothing():
    page = written(".html").decode()
    assert len(page.encode()) < 2 * 2**20
    assert "default-src 'none'" in page
    assert "unsafe" not in page.partition("<body>")[0]
    assert page.count("</script>") == 3


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_text_is_as_wide_as_the_terminal(width, encoding):
    metadata = deepcopy(METADATA)
    buffers_of(metadata, 1)[21]["name"] = "\u5909\u6570" * 30 + "[bold]\x1b[31m"
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, errors="replace")
    print_memory_map(map_of_metadata(metadata), Console(file=file, width=width))
    file.flush()
    lines = raw.getvalue().decode(encoding).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert "\x1b" not in "".join(lines)
    (peak,) = (line for line in lines if line.startswith("peak") and "10432" in line)
    assert cell_len(peak) > width * 0.7
    assert sum(line.startswith("tensor_") for line in lines) == 9
    assert "and 20 smaller, of " in "\n".join(lines)


def test_several_entries_are_named():
    metadata = deepcopy(METADATA)
    main = _main(metadata)
    half = map_of_metadata(metadata).positions // 2
    metadata["memory"]["functions"]["main"] = [
        {**main, "entry": name, "positions": positions, "peak_bytes": {"sram": 9}, "states": {}}
        for name, positions in (("learn", [0, half]), ("tell", [half, 2 * half]))
    ]
    drawn = map_of_metadata(metadata)
    assert drawn.pools[0].buffers[0].entries == ("learn",)
    spec = json.dumps(picture_spec(drawn, "light"))
    assert '"learn"' in spec and '"tell"' in spec
    page = map_page(drawn)
    assert '<th scope=row><span><bdi>tell</bdi></span></th><td class="number">9</td>' in page
    assert f"<td>{half}-{2 * half}</td>" in page


def test_the_text_has_colors_on_a_terminal_only():
    drawn = map_of_metadata(METADATA)
    file = io.StringIO()
    print_memory_map(drawn, Console(file=file, width=100, force_terminal=True))
    assert "\x1b[" in file.getvalue()
    assert "\x1b[" not in map_text(drawn)


@pytest.mark.slow
def test_each_ending_has_a_writer():
    assert list(WRITERS) == list(REPORTS)
    for ending in REPORTS:
        assert written(ending)
