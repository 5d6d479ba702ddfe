"""Each test has one marker, `pytest` alone runs the unit tests, and `make test` runs all."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from conftest import ROOT, SHARED
from support.lazy import LOADED
from support.markers import COLLECTED, FILES, MARKERS
from support.unit_guard import MARKER_OF_PROGRAM, check_calls, refuse


def selected(config: pytest.Config, expression: str) -> set[str]:
    """The tests of this run that `-m expression` selects, of one marker or all."""
    collected = config.stash[COLLECTED]
    return {name for name, marker in collected if expression in ("", marker)}


def test_each_test_has_one_marker(request):
    names = [name for name, _ in request.config.stash[COLLECTED]]
    assert len(names) == len(set(names))
    union = [name for marker in MARKERS for name in selected(request.config, marker)]
    assert sorted(union) == sorted(selected(request.config, "")) == sorted(names)


@pytest.mark.slow
def test_markers_of_what_was_selected(request):
    for item in request.session.items:
        assert len([name for name in MARKERS if item.get_closest_marker(name)]) == 1, item.nodeid


def test_collecting_tests_loads_no_large_library(request):
    assert request.config.stash[LOADED] == []


def test_files_with_a_marker_are_there():
    assert [name for name in FILES if not (ROOT / "tests/python" / name).exists()] == []


def test_the_markers_are_registered(request):
    registered = [line.split(":")[0] for line in request.config.getini("markers")]
    assert set(MARKERS) <= set(registered)
    assert request.config.getoption("strict_markers")


def test_unit_tests_run_by_default(pytestconfig):
    assert "-m unit and not slow" in pytestconfig.getini("addopts")


def test_make_test_runs_everything_but_slow_tests_of_other_seeds():
    makefile = (ROOT / "Makefile").read_text().replace("\\\n\t\t", "")
    recipe = re.search(r"^test:.*\n\t(.*)$", makefile, re.MULTILINE)
    assert recipe[1] == (
        '$(BIN)/python -m pytest -m "" --slow-every=4 --sample-seed=$(SEED) '
        "-n auto --dist worksteal --costs=20"
    )


def test_a_unit_test_that_compiles_is_refused():
    program = next(name for name in MARKER_OF_PROGRAM if shutil.which(name))
    message = f"a unit test called {program}; mark it with pytest.mark.{MARKER_OF_PROGRAM[program]}"
    done = subprocess.run(["sh", "-c", f"{program} --version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{message}\n")
    with pytest.raises(pytest.fail.Exception, match=re.escape(message)):
        check_calls()
    with pytest.raises(pytest.fail.Exception, match=re.escape(message)):
        refuse(program)


def test_a_unit_test_that_reads_public_models_is_refused():
    with pytest.raises(pytest.fail.Exception, match=r"opened .* mark it with pytest\.mark\.models"):
        (SHARED / "models/no_such_model.tflite").read_bytes()


@pytest.mark.cc
def test_others_may_compile():
    refuse("cc")
    assert subprocess.run(["cc", "--version"], capture_output=True).returncode == 0
