"""Searches that only time or a proof ends: what is shown of them, and what ctrl-C does."""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import time

import pytest

from support.children import run_tvmc
from support.placement_graphs import graph
from support.small_digits import small_digits
from usmp.algorithms import get_algorithm
from usmp.driver.options import build_options
from usmp.driver.terminal.search import command_deadline, time_budget, watched_search
from usmp.exploration import processes
from usmp.support.deadline import Deadline

CORES = [("one", "cortex-m0"), ("two", "cortex-m0"), ("three", "cortex-m4")]

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


def hard(count: int = 200):
    """Buffers whose conflicts follow no order of time, so that nothing simple proves a plan."""
    draw = random.Random(1)
    names = [f"b{i}" for i in range(count)]
    return list(
        graph(
            {name: draw.randint(1000, 100_000) for name in names},
            {name: [other for other in names if draw.random() < 0.3] for name in names},
        ).values()
    )


@pytest.fixture
def extended(tmp_path):
    """Run `tvmc` on a small model with an endless search that is interrupted."""
    model = tmp_path / "digits.tflite"
    model.write_bytes(small_digits())

    def run(interrupts: int, *arguments: str) -> subprocess.CompletedProcess[str]:
        extension = tmp_path / "endless.py"
        compares = any("usmp" in argument for argument in arguments)
        values = f"INTERRUPTS = {interrupts}\nCOMPARES_BY_AUTO = {compares}\n"
        extension.write_text(values + _ENDLESS)
        command = (arguments[0], model, *arguments[1:], "--extension", extension)
        return run_tvmc(*command, folder=tmp_path)

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


@pytest.mark.slow
def test_what_ends_by_itself_is_left_alone():
    shown: list[str] = []
    with watched_search({"tir.usmp.algorithm": "auto"}, shown.append):
        plan = get_algorithm("auto")(hard(50), 0)
    assert (plan.ended_by, shown) == ("work", [])


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_archive_of_an_interrupted_command_is_written(extended, tmp_path):
    done = extended(1, "compile", "--usmp-time-budget=60s", "-o", "model.tar")
    assert done.returncode == 0
    assert (tmp_path / "model.tar").stat().st_size > 0
    assert "The search was interrupted: another run may end with another plan." in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("interrupts", "options"), [(1, []), (2, ["--usmp-time-budget=60s"])], ids=["auto", "twice"]
)
def test_an_aborted_command(extended, tmp_path, interrupts, options):
    done = extended(interrupts, "compile", *options, "-o", "model.tar")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "tvmc: interrupted\n")
    assert not (tmp_path / "model.tar").exists()


def test_the_time_begins_with_the_command():
    options = argparse.Namespace(start_seconds=100.0)
    assert command_deadline(options, None) is None
    assert command_deadline(options, "10s").seconds == 110
    options.deadline = Deadline(time.monotonic() + 1000)
    assert command_deadline(options, None) is options.deadline
    assert command_deadline(options, "10s").seconds == 110


def test_each_build_has_its_part_of_what_remains():
    now = time.monotonic()
    options = argparse.Namespace(start_seconds=now, remaining_builds=4)
    deadline = command_deadline(options, "1000h")
    assert deadline.seconds - now == pytest.approx(900_000, abs=60)


@pytest.mark.parametrize(
    ("setting", "budget"),
    [([], "1s"), (["tir.usmp.time_budget=1.0"], "1.0"), (["tir.usmp.enable=1"], "1s")],
)
def test_a_budget_is_an_option_or_a_pass_option(setting, budget):
    options = argparse.Namespace(usmp_time_budget="1s", pass_config=setting)
    assert time_budget(options) == budget


def test_the_summary_says_what_was_not_compared(tvmc, small_model):
    done = tvmc("plan", small_model, "--usmp-time-budget=.001ms")
    assert (done.status, done.stderr) == (0, "")
    text = " ".join(done.stdout.split())
    assert "The search was ended by its time budget: another run may end with another" in text
    assert "No time remained to compare all orders of operators, operators that run" in text


@pytest.mark.slow
def test_a_check_of_several_places_divides_the_time(tvmc, small_model, monkeypatch):
    builds = []

    def spy(options, budget):
        builds.append((options.remaining_builds, budget))
        return command_deadline(options, budget)

    monkeypatch.setattr(build_options, "command_deadline", spy)
    memories = [f"--board-memory={name}:ram=1M,flash=1M,core={core}" for name, core in CORES]
    done = tvmc("check", small_model, *memories, "--usmp-time-budget=1h", "--quiet")
    assert done.status == 0
    assert builds == [(3, "1h"), (1, "1h")]


@pytest.mark.slow
def test_configurations_have_equal_parts_of_the_time(tvmc, small_model, monkeypatch):
    shared = []

    def in_processes(evaluate, data, tasks, jobs, is_interrupted):
        shared.append((data["search_seconds"], len(tasks), jobs))
        return ((task, evaluate({**data, "search_seconds": 1e-9}, task)) for task in tasks)

    monkeypatch.setattr(processes, "in_processes", in_processes)
    varied = "streaming=0,1", "order_operators=0,1"
    arguments = [argument for each in varied for argument in ("--vary", each)]
    done = tvmc("explore", small_model, *arguments, "--usmp-time-budget=1000h", "-j2")
    assert done.status == 0
    ((seconds, tasks, jobs),) = shared
    assert (tasks, jobs) == (4, 2)
    assert seconds == pytest.approx(1_800_000, abs=60)
