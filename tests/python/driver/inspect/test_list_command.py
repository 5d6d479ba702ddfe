"""`tvmc list`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import tvm_ffi
from tvm.relax.backend.pattern_registry import register_patterns
from tvm.relax.dpl import is_op, wildcard

from support.children import TVMC, WITHOUT_TORCH, run
from usmp.driver.inspect import list_command
from usmp.names import BOARDS, CORES, OPTIONAL_PASSES, PASS_OPTIONS
from usmp.parts import PARTS
from usmp.tvm018.old_name import accepted, refused
from usmp_solver import ALGORITHMS


def listed(tvmc, *arguments):
    outcome = tvmc("list", *arguments, "--format=json")
    assert (outcome.status, outcome.stderr) == (0, "")
    return json.loads(outcome.stdout)


NAMES = ["targets", "cores", "boards", "parts", "algorithms", "pass-configs", "passes"]


def names(rows):
    return [row["name"] for row in rows]


def test_sections(tvmc):
    sections = listed(tvmc)
    assert list(sections) == NAMES
    assert names(sections["targets"])[:2] == ["c", "llvm"]
    assert names(sections["cores"]) == list(CORES)
    assert names(sections["boards"]) == list(BOARDS)
    assert names(sections["parts"]) == list(PARTS)
    assert names(sections["algorithms"])[: len(ALGORITHMS)] == list(ALGORITHMS)
    assert names(sections["pass-configs"]) == list(PASS_OPTIONS)
    assert sections["pass-configs"][0] == {
        "name": "tir.usmp.enable",
        "type": "bool",
        "values": ["1", "0"],
        "meanings": {"0": PASS_OPTIONS["tir.usmp.enable"].values["0"]},
        "default": "1",
        "description": "plan with all optimizations",
    }
    assert names(sections["passes"]) == list(OPTIONAL_PASSES)


@pytest.mark.parametrize("section", NAMES)
def test_one_section(tvmc, section):
    assert listed(tvmc, section) == {section: listed(tvmc)[section]}
    text = tvmc("list", section).stdout
    assert text.splitlines()[0] == f"{section}:"
    assert text.rstrip("\n") in tvmc("list").stdout


def test_table(tvmc):
    lines = tvmc("list", "pass-configs").stdout.splitlines()
    assert lines[1] == (
        "  tir.usmp.enable            plan with all optimizations (1; 0: greedy_by_size, without "
        "overlap, streaming or another order of operators; default: 1)"
    )
    assert (
        "  tir.usmp.custom_algorithm  an algorithm of your own, registered as "
        "tir.usmp.algo.NAME (str)"
    ) in lines


@pytest.fixture
def old_rows(monkeypatch):
    rows = (
        accepted("--level", "as always", values=("2", "3")),
        accepted("--level", "nothing is asked for", values=("",)),
        refused("--level", "there is no such level"),
        accepted("--option-with-a-name-that-leaves-little-room", "a file says so", beside="*.x"),
        refused("--option-with-a-name-that-leaves-little-room", "no file says so", beside="!*.x"),
    )
    monkeypatch.setattr(list_command, "OLD_NAMES", {"tvmc compile": rows})


def test_options_of_tvm_018(tvmc, old_rows, monkeypatch):
    """One line a row for grep; on a terminal, a name is shown once where rows are below it."""
    cases = [
        "2, 3 is accepted: as always",
        '"" is accepted: nothing is asked for',
        "refused: there is no such level",
        "beside *.x is accepted: a file says so",
        "without *.x is refused: no file says so",
    ]
    level, option = "  --level", "  --option-with-a-name-that-leaves-little-room"
    lines = tvmc("list", "options-of-0.18").stdout.splitlines()
    names = [level] * 3 + [option] * 2
    shown = [f"{name:{len(option)}}  {case}" for name, case in zip(names, cases, strict=True)]
    assert lines == ["tvmc compile:", *shown]
    monkeypatch.setenv("COLUMNS", "80")
    lines = tvmc("list", "options-of-0.18").stdout.splitlines()
    below = [f"      {case}" for case in cases]
    assert lines == ["tvmc compile:", level, *below[:3], option, *below[3:]]


def test_options_of_tvm_018_as_json(tvmc, old_rows):
    sections = json.loads(tvmc("list", "options-of-0.18", "--format=json").stdout)
    assert sections["tvmc compile"][3] == {
        "name": "--option-with-a-name-that-leaves-little-room",
        "values": [],
        "verdict": "accepted",
        "to": [],
        "changes_meaning": False,
        "beside": "*.x",
        "description": "a file says so",
    }


def test_registered_algorithm(tvmc):
    name = "tir.usmp.algo.listed_here"
    tvm_ffi.register_global_func(name, lambda buffers, pressure: {})
    try:
        rows = listed(tvmc, "algorithms")["algorithms"]
    finally:
        tvm_ffi.remove_global_func(name)
    assert {
        "name": "listed_here",
        "description": "registered as tir.usmp.algo.listed_here; choose it with "
        "tir.usmp.custom_algorithm",
    } in rows


def test_accelerator(tvmc):
    register_patterns([("listed_accel.add", is_op("relax.add")(wildcard(), wildcard()))])
    assert "listed_accel" in names(listed(tvmc, "targets")["targets"])


def test_unknown_section(refused):
    assert refused("list", "animals").startswith(
        'argument SECTION: invalid choice "animals". Choices: targets, '
    )


def test_extension_is_loaded_first(tvmc, refused):
    Path("mine.py").write_text(
        "import tvm_ffi\n"
        "tvm_ffi.register_global_func('tir.usmp.algo.of_extension', lambda b, p: {})\n"
    )
    try:
        assert "of_extension" in names(listed(tvmc, "--extension=mine.py")["algorithms"])
    finally:
        tvm_ffi.remove_global_func("tir.usmp.algo.of_extension")
    assert refused("list", "--extension=no.py") == "--extension no.py: No such file or directory"


@pytest.mark.slow
def test_algorithm_of_an_extension_that_loads_no_tvm(tmp_path):
    extension = tmp_path / "mine.py"
    extension.write_text(
        "import tvm_ffi\n"
        "tvm_ffi.register_global_func('tir.usmp.algo.of_extension', lambda b, p: {})\n"
    )
    command = (TVMC, "list", "algorithms", "--extension", extension)
    done = run(*command, env={**os.environ, **WITHOUT_TORCH})
    assert "\n  of_extension " in done.stdout
