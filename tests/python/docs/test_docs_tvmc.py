"""What docs/tvmc.md says of the command is so."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import signal

import numpy as np
import pytest

from conftest import ROOT
from support.python_here import registering, run_python
from support.small_digits import small_digits
from usmp.driver import tvmc
from usmp.driver.status import FAILED, NOT_WITHIN
from usmp.driver.tvmc import main
from usmp.objects.target.cores import CORES
from usmp.report import CSV_COLUMNS

BOARD_TOOLS = shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")
PAGE = (ROOT / "docs/tvmc.md").read_text()
(SUBPARSERS,) = (
    action for action in tvmc._parser()._actions if isinstance(action, argparse._SubParsersAction)
)


READ = {"model.tflite", "other.tflite", "in.npz", "image.npy", "image.bin", "mine.py"}
ALGORITHM = "tir.usmp.algo.mine"
_MINE = f"""
import tvm_ffi
from usmp.algorithms import get_algorithm

tvm_ffi.register_global_func("{ALGORITHM}", get_algorithm("hill_climb"), override=True)
"""


def section(title: str) -> str:
    return re.split(r"^## ", PAGE.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    """The cells of tables, without their headings."""
    lines = re.findall(r"^\|(.*)\|$", text, re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")] for line in lines]


def command_lines(title: str) -> list[list[str]]:
    """The indented commands of a section, as arguments of `main`."""
    indented = "".join(re.findall(r"^    .*\n", section(title), re.MULTILINE))
    lines = indented.replace("\\\n", " ").splitlines()
    return [shlex.split(line)[1:] for line in lines if line.strip().startswith("tvmc ")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with what the commands of the page read."""
    monkeypatch.chdir(tmp_path)
    for name in ("model.tflite", "other.tflite"):
        (tmp_path / name).write_bytes(small_digits())
    image = np.zeros((1, 8, 8, 1), np.int8)
    np.savez("in.npz", image=image)
    np.save("image.npy", image)
    image.tofile("image.bin")
    (tmp_path / "mine.py").write_text(_MINE)
    with registering():
        yield tmp_path


def test_cores():
    table = [row for row in rows(PAGE) if row[0].startswith("`cortex-")]
    lacking = {
        name: re.findall(r"`\+([\w.]+)`", row[2])
        for row in table
        for name in re.findall(r"`([\w-]+)`", row[0])
    }
    assert lacking == {name: list(core.optional) for name, core in CORES.items()}


@pytest.mark.cc
def test_every_command_has_a_row_and_a_section():
    commands = list(SUBPARSERS.choices)
    listed = [re.match(r"`tvmc ([\w-]+)`", row[0]) for row in rows(PAGE)]
    assert [match[1] for match in listed if match] == commands
    titles = re.findall(r"^## (.*)", PAGE, re.MULTILINE)
    assert [title for title in titles if title in commands] == commands


@pytest.mark.slow
@pytest.mark.board
def test_compile_and_run(folder, capfd):
    titles = ("compile", "run", "export-test")
    for line in (line for title in titles for line in command_lines(title)):
        if line[0] == "run" and "--board" in line and not BOARD_TOOLS:
            continue
        assert main(line) == 0, capfd.readouterr().err
    made = {
        "model.tar",
        "digits.tar",
        "two.tar",
        "board.tar",
        "profiled.tar",
        "profile.json",
        "measured.html",
        "mine.tar",
        "both.tar",
        "concurrent.tar",
        "model_test",
        "both_test",
        "test.tar",
        "out.npz",
    }
    assert set(os.listdir(folder)) == made | READ


@pytest.mark.slow
@pytest.mark.cc
def test_plan_info_and_list(folder, capfd):
    assert main(["compile", "model.tflite", "-o", "model.tar", "-q"]) == 0
    for title in ("plan", "info", "list"):
        for line in command_lines(title):
            assert main(line) == 0, capfd.readouterr().err
    written = {"model.tar", "plan.json", "map.html", "map.json"}
    assert set(os.listdir(folder)) == written | READ


@pytest.mark.slow
@pytest.mark.cc
def test_diff_and_check(folder, capfd):
    assert main(["compile", "model.tflite", "-o", "model.tar", "-q"]) == 0
    assert main(["plan", "model.tar", "-o", "model.json"]) == 0
    for name in ("before", "after"):
        for ending in ("tar", "json"):
            shutil.copy(f"model.{ending}", f"{name}.{ending}")
    made = set(os.listdir(folder))
    lines = [*command_lines("diff"), *command_lines("check")]
    # The page on both shows those that plan a model for a board; its test runs them.
    elsewhere = [line for line in lines if line[:2] == ["check", "model.tflite"]]
    other = (ROOT / "docs/compare.md").read_text()
    assert all(f"    tvmc {shlex.join(line)}\n" in other for line in elsewhere)
    for line in lines:
        if line not in elsewhere:
            assert main(line) == 0, capfd.readouterr().err
    assert (len(lines), len(elsewhere)) == (8, 3)
    assert set(os.listdir(folder)) == made | {"comment.md"}


@pytest.mark.cc
def test_completion(capfd):
    shells = re.findall(r"tvmc completion (\w+)", section("completion"))
    assert shells == ["bash", "zsh", "fish"]
    for shell in shells:
        assert main(["completion", shell]) == 0


@pytest.mark.cc
def test_every_option_on_the_page_exists():
    known = {
        option
        for command in SUBPARSERS.choices.values()
        for action in command._actions
        for option in action.option_strings
    }
    shown = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", PAGE))
    # The name of a pool is part of its flag.
    named = {option for option in shown if option.startswith("--usmp-workspace-pool-")}
    assert shown - named - {"--version"} <= known


@pytest.mark.cc
def test_columns_of_the_csv():
    cells = [row[0] for row in rows(section("plan")) if row[0].startswith("`")]
    assert re.findall(r"`(\w+)`", " ".join(cells)) == list(CSV_COLUMNS)


@pytest.mark.cc
def test_exit_statuses():
    table = rows(PAGE.split("## compile")[0])
    statuses = [int(row[0]) for row in table if row[0].isdigit()]
    signals = [128 + number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    assert statuses == [0, FAILED, NOT_WITHIN, *signals]


@pytest.mark.slow
@pytest.mark.cc
def test_python(folder):
    (code,) = re.findall(r"```python\n(.*?)```", section("Python"), re.DOTALL)
    printed = run_python(code, folder)
    assert "def main(image" in printed
    assert "Output Names:\n ['probabilities']" in printed
    assert (folder / "model.tar").exists()


@pytest.mark.cc
def test_names_of_the_python_functions():
    calls = [row[0].strip("`") for row in rows(section("Python")) if row[0].startswith("`tvmc.")]
    for call in calls:
        name, arguments = re.fullmatch(r"tvmc\.(\w+)\((.*)\)", call).groups()
        code = getattr(tvmc, name).__code__
        taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = [argument.strip().partition("=") for argument in arguments.split(",")]
        assert {argument for argument, separator, _ in given if separator} <= set(taken)
    assert len(calls) == 3
