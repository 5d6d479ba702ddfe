"""docs/boards.md: its commands run, its tables are those of the code."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import usmp
from board_programs import require_board
from conftest import ROOT
from usmp.objects.boards import BOARDS, board_named

PAGE = (ROOT / "docs/boards.md").read_text()


def table(heading: str) -> list[list[str]]:
    rows = PAGE.split(f"| {heading} |")[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def commands() -> list[list[str]]:
    blocks = re.findall(r"(?:^    .*\n)+", PAGE, re.MULTILINE)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines]


def size(size_bytes: int) -> str:
    return f"{size_bytes >> 20} MB" if size_bytes >= 1 << 20 else f"{size_bytes >> 10} KB"


def test_the_table_of_boards():
    assert [[row[0], row[2]] for row in table("board")] == [
        [f"`{b.name}`", ", ".join(f"`{m.name}` {size(m.size_bytes)}" for m in b.memories)]
        for b in BOARDS
    ]


def test_the_table_of_files(digits_model):
    named = {name for row in table("file") for name in re.findall(r"`([^`]+)`", row[0])}
    mod = usmp.import_model(digits_model)
    made = {
        name.removeprefix("project/")
        for board in BOARDS
        for name in usmp.build(mod, board=board).files()
        if name.startswith("project/")
    }
    assert named == made


def test_the_packages():
    installed = {word for words in commands() if words[0] == "apt-get" for word in words[2:]}
    needed = {"make"}
    for board in BOARDS:
        needed |= {*board.toolchain.packages.split(), board.emulator.package}
    assert installed == needed


def test_the_commands(tmp_path, digits_model):
    require_board(board_named("mps3-an547"))
    shutil.copy(digits_model, tmp_path / "model.tflite")
    programs = {"tvmc": [sys.executable, "-m", "usmp.driver.tvmc"]}
    done = 0
    for command in commands():
        if command[0] != "apt-get":
            words = [*programs.get(command[0], [command[0]]), *command[1:]]
            subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
            done += 1
    assert done == 6
    report = (tmp_path / "project/report.txt").read_text()
    assert re.fullmatch(r"instructions \d+\nstack_used \d+\nstack_size 16384\n", report)


@pytest.mark.parametrize("path", ["memory-pools.md"])
def test_pages_that_are_linked_exist(path):
    assert f"({path})" in PAGE
    assert (Path(ROOT) / "docs" / path).exists()
