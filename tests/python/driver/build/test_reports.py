"""`tvmc compile --report` and `tvmc plan --report`, `--map`."""

from __future__ import annotations

import csv
import io
import json
import os
import resource
import sys
import tarfile
from pathlib import Path

import pytest

from support.small_digits import small_digits
from usmp.support.distribution import install_command


@pytest.mark.slow
def test_reports_of_a_model_and_of_its_archive_are_alike(tvmc):
    Path("digits.tflite").write_bytes(small_digits())
    written = ("map.html", "map.json", "map.csv")
    reports = [f"--report={name}" for name in written]
    compiled = tvmc("compile", "digits.tflite", "-o", "model.tar", "--report=map.svg", *reports)
    assert compiled.status == 0
    assert set(os.listdir()) == {"digits.tflite", "model.tar", "map.svg", *written}
    assert Path("map.svg").read_text().startswith("<svg")
    first = {name: Path(name).read_bytes() for name in written}
    assert tvmc("plan", "model.tar", *reports).status == 0
    assert {name: Path(name).read_bytes() for name in written} == first
    with tarfile.open("model.tar") as tar:
        (module,) = json.load(tar.extractfile("./metadata.json"))["modules"].values()
    document = json.loads(first["map.json"])
    expected = {
        (pool["name"], b["name"], b["offset"], b["size"])
        for pool in module["memory"]["pools"]
        for b in pool["buffers"]
    }
    assert {
        (pool["name"], b["name"], b["offset_bytes"], b["size_bytes"])
        for pool in document["pools"]
        for b in pool["buffers"]
    } == expected
    rows = csv.DictReader(io.StringIO(first["map.csv"].decode()))
    assert {(r["pool"], r["name"], int(r["offset"]), int(r["size"])) for r in rows} == expected
    text = tvmc("plan", "model.tar", "--map").stdout
    assert "RAM 84 bytes" in text
    assert f"peak        {document['pools'][0]['peak_bytes']}  " in text
    assert text.startswith(tvmc("plan", "model.tar").stdout)


@pytest.mark.slow
def test_the_map_of_a_model(tvmc, small_model):
    planned = ("plan", small_model, "--workspace-io")
    table, both = (tvmc(*planned, *more).stdout for more in ([], ["--map"]))
    assert both.startswith(table)
    assert "(workspace)" in both.removeprefix(table)
    assert tvmc(*planned, "--map", "-o", "plan.txt").stdout == ""
    assert "(workspace)" in Path("plan.txt").read_text()
    without = tvmc("plan", small_model, "--map").stdout
    assert without.endswith("There is no map: the plan has no buffers.\n")


def test_reports_leave_stdout_to_the_plan(tvmc, small_model):
    outcome = tvmc("plan", small_model, "--format=json", "--report", "map.json")
    assert "functions" in json.loads(outcome.stdout)
    assert json.loads(Path("map.json").read_text())["schema"] == "usmp.memory-map"


@pytest.mark.parametrize("command", ["compile", "plan"])
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("map.pdf", 'map.pdf: unknown kind of report ".pdf". Endings: .html, .svg, '),
        ("html", 'html: unknown kind of report "html". Did you mean ".html"?'),
        ("no/map.svg", "no/map.svg: cannot be written (No such file or directory)"),
        ("", "the path for the report is empty; name a file"),
    ],
)
def test_reports_that_cannot_be_written(refused, small_model, command, path, message):
    assert refused(command, small_model, "--report", path).startswith(message)


def test_two_outputs_of_one_name(refused, small_model):
    message = "map.json: two outputs of this command are this file; name another"
    twice = ["--report=map.json", "--report=./map.json"]
    assert refused("plan", small_model, *twice) == message.replace("map.json", "./map.json", 1)
    assert refused("plan", small_model, "-o", "map.json", "--report=map.json") == message


def test_without_the_extra(refused, small_model, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    message = refused("compile", small_model, "--report=map.html")
    assert message.startswith("map.html: a report of this kind needs the package vl-convert-python")
    assert message.endswith(install_command("report"))


def test_the_map_belongs_to_the_table(refused, small_model):
    assert refused("plan", small_model, "--map", "--format=csv").startswith(
        "--map belongs to the table, and not to csv"
    )
    assert refused("plan", "--buffers=in.csv", "--map").startswith("--map belongs to a model")


@pytest.mark.slow
@pytest.mark.process
def test_a_drawing_without_its_address_space(tvmc, refused, small_model):
    """The JavaScript engine that draws ends its process by SIGTRAP."""
    pytest.importorskip("vl_convert")
    assert tvmc("compile", small_model, "-o", "model.tar").status == 0
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (mapped + (24 << 30), hard))
    try:
        message = refused("plan", "model.tar", "--report=map.svg")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    assert message.startswith(
        "SVG: vl-convert, which draws, ended by SIGTRAP; it needs about 67 GB"
    )


def test_memory_that_is_exhausted(refused, small_model, monkeypatch):
    def exhausted(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("usmp.report.report_bytes", exhausted)
    message = refused("plan", small_model, "--report=map.json")
    assert message.startswith("usmp has not enough memory, and ")
