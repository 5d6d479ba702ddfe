"""Searches that only time or a proof ends: what is shown of them, and what ctrl-C does."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.placement_graphs import graph
from usmp.algorithms import get_algorithm
from usmp.driver.search import watched_search

TVMC = str(Path(sys.executable).with_name("tvmc"))
UNLIMITED = {"tir.usmp.time_budget": "60s"}

# Searches that never end by themselves; ctrl-C comes when one begins, as often as the first line
# says. Where others are asked for, orders are still compared by those that do end.
_ENDLESS = """
import os
import signal
import sys

from usmp_solver.library import function

solve = function("solve")


def endless(*arguments):
    *asked, watch = arguments
    _, _, algorithm, _, _, _, seconds = asked
    if algorithm == "auto" and seconds is None and COMPARES_BY_AUTO:
        return solve(*arguments)
    for _ in range(INTERRUPTS):
        os.kill(os.getpid(), signal.SIGINT)
    while watch(None, 0):
        pass
    return {**solve(*asked, lambda *_: True), "status": "feasible"}


sys.modules["usmp_solver.solver"].function = lambda name: {"solve": endless}.get(name) or function(
    name
)
"""


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def hard():
    """Buffers whose conflicts follow no order of time, so that nothing simple proves a plan."""
    draw = random.Random(1)
    names = [f"b{i}" for i in range(200)]
    return list(
        graph(
            {name: draw.randint(1000, 100_000) for name in names},
            {name: [other for other in names if draw.random() < 0.3] for name in names},
        ).values()
    )


@pytest.fixture
def extended(digits_model, tmp_path):
    """Run `tvmc` on the digits model with an endless search that is interrupted."""

    def run(interrupts: int, *arguments: str) -> subprocess.CompletedProcess[str]:
        extension = tmp_path / "endless.py"
        compares = any("usmp" in argument for argument in arguments)
        values = f"INTERRUPTS = {interrupts}\nCOMPARES_BY_AUTO = {compares}\n"
        extension.write_text(values + _ENDLESS)
        return subprocess.run(
            [TVMC, arguments[0], str(digits_model), *arguments[1:], "--extension", str(extension)],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )

    return run


def test_ctrl_c_takes_the_best_plan_so_far():
    shown: list[str] = []
    buffers = hard()

    def stage(text: str) -> None:
        shown.append(text)
        if text.startswith("planning: peak "):
            interrupt()

    with watched_search(UNLIMITED, stage):
        plan = get_algorithm("auto", 60.0)(buffers, 0)
    assert plan.ended_by == "interrupt"
    assert set(plan) == set(buffers)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    *before, last = shown
    assert re.fullmatch(r"planning: peak \d+, lower bound \d+, \d+ s", last)
    assert all(text.startswith("planning: no plan yet, lower bound ") for text in before)


def test_a_second_ctrl_c_aborts():
    def stage(text: str) -> None:
        interrupt()
        interrupt()

    with watched_search(UNLIMITED, stage), pytest.raises(KeyboardInterrupt):
        get_algorithm("auto", 60.0)(hard(), 0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_before_there_is_a_plan_aborts():
    def stage(text: str) -> None:
        interrupt()
        raise ValueError("no plan was found")

    with watched_search(UNLIMITED, stage), pytest.raises(KeyboardInterrupt):
        get_algorithm("auto", 60.0)(hard(), 0)


def test_what_ends_by_itself_is_left_alone():
    shown: list[str] = []
    with watched_search({"tir.usmp.algorithm": "auto"}, shown.append):
        plan = get_algorithm("auto")(hard(), 0)
    assert (plan.ended_by, shown) == ("work", [])


@pytest.mark.parametrize(
    "option",
    ["--usmp-algorithm=exact", "--usmp-time-budget=60s", "--pass-config=tir.usmp.time_budget=60"],
)
def test_an_interrupted_command_says_so(extended, option):
    done = extended(1, "plan", "--format=json", option)
    assert (done.returncode, done.stderr) == (
        0,
        "tvmc: the search was interrupted; this is the best plan that it found until then\n",
    )
    assert json.loads(done.stdout)["search_ended_by"] == "interrupt"


def test_the_archive_of_an_interrupted_command_is_written(extended, tmp_path):
    done = extended(1, "compile", "--usmp-time-budget=60s", "-o", "model.tar")
    assert done.returncode == 0
    assert (tmp_path / "model.tar").stat().st_size > 0
    assert "The search was interrupted: another run may end with another plan." in done.stdout


@pytest.mark.parametrize(
    ("interrupts", "options"), [(1, []), (2, ["--usmp-time-budget=60s"])], ids=["auto", "twice"]
)
def test_an_aborted_command(extended, tmp_path, interrupts, options):
    done = extended(interrupts, "compile", *options, "-o", "model.tar")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "tvmc: interrupted\n")
    assert not (tmp_path / "model.tar").exists()
