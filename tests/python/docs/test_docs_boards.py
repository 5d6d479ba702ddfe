"""docs/boards.md: its commands run, its tables are those of the code."""

from __future__ import annotations

import re
import shlex
import subprocess
import tarfile
from pathlib import Path

import pytest

import usmp
from conftest import ROOT
from support.board_programs import require_board, run_program, small_model
from support.python_here import run_python, run_tvmc, working_in
from support.quantized_models.variables import VECTOR, delay
from support.small_digits import small_digits
from usmp.boards.board import BOARDS, board_named
from usmp.boards.board_run import program_memory
from usmp.boards.elf_sections import read_sections
from usmp.boards.emulator import build_project
from usmp.frontend.tflite.importer import import_tflite

pytestmark = pytest.mark.usefixtures("one_session")

PAGE = (ROOT / "docs/boards.md").read_text()
_BEFORE, _HEADING, _REST = PAGE.partition("## Several entries in one program\n")
ENTRIES, _HEADING, _REST = _REST.partition("## State that outlives a reset\n")
STATE, _HEADING, _AFTER = _REST.partition("## What the numbers mean\n")
ONE_MODEL = _BEFORE + _AFTER


def block(language: str) -> str:
    (text,) = re.findall(rf"^```{language}\n(.*?)^```", ENTRIES, re.DOTALL | re.MULTILINE)
    return text


def table(heading: str) -> list[list[str]]:
    rows = PAGE.split(f"| {heading} |")[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def commands(text: str) -> list[list[str]]:
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    blocks = re.findall(r"(?:^    .*\n)+", text, re.MULTILINE)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines]


def size(size_bytes: int) -> str:
    return f"{size_bytes >> 20} MB" if size_bytes >= 1 << 20 else f"{size_bytes >> 10} KB"


@pytest.mark.cc
def test_the_table_of_boards():
    assert [[row[0], row[2]] for row in table("board")] == [
        [f"`{b.name}`", ", ".join(f"`{m.name}` {size(m.size_bytes)}" for m in b.memories)]
        for b in BOARDS
    ]


@pytest.mark.slow
@pytest.mark.cc
def test_the_table_of_files():
    named = {name for row in table("file") for name in re.findall(r"`([^`]+)`", row[0])}
    made = {name for board in BOARDS for name in small_model(board).files()}
    assert named == {name.removeprefix("project/") for name in made if name.startswith("project/")}


@pytest.mark.cc
def test_the_packages():
    installed = {word for words in commands(PAGE) if words[0] == "apt-get" for word in words[2:]}
    needed = {"make"}
    for board in BOARDS:
        needed |= {*board.toolchain.packages.split(), board.emulator.package}
    assert installed == needed


def carry_out(text: str, folder: Path) -> int:
    """Run the commands, but for those that install; how many there were."""
    done = 0
    for command in commands(text):
        if command[0] == "tvmc":
            with working_in(folder):
                run_tvmc(*command[1:])
        elif command[0] != "apt-get":
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
        done += command[0] != "apt-get"
    return done


@pytest.mark.slow
@pytest.mark.board
def test_the_commands(tmp_path):
    require_board(board_named("mps3-an547"))
    (tmp_path / "model.tflite").write_bytes(small_digits())
    assert carry_out(ONE_MODEL, tmp_path) == 6
    report = (tmp_path / "project/report.txt").read_text()
    assert re.fullmatch(r"instructions \d+\nstack_used \d+\nstack_size 16384\n", report)


@pytest.mark.slow
@pytest.mark.board
def test_several_entries(tmp_path, digits_images):
    """The commands, the Python and the C; both models in the memory of one."""
    board = board_named("mps3-an547")
    require_board(board)
    for name in ("first", "second"):
        (tmp_path / f"{name}.tflite").write_bytes(small_digits())
    assert carry_out(ENTRIES, tmp_path) == 4
    project = tmp_path / "project"
    report = (project / "report.txt").read_text()
    assert re.fullmatch(r"(instructions \d+\n){2}stack_used \d+\nstack_size 16384\n", report)
    printed = run_python(block("python"), tmp_path)
    assert printed.startswith("['first', 'second', 'first'] [")

    (project / "main.c").write_text(block("c"))
    build_project(project, board, {"OPTIMIZATION": "-O2 -Werror -pedantic"})
    image = digits_images[0][:1]
    _, outputs = run_program(board, project, image.tobytes() * 2)
    factory = usmp.build(import_tflite(small_digits()), board=board)
    assert outputs == factory.run({"image": image})["probabilities"].tobytes() * 2
    memory = program_memory(read_sections((project / "model.elf").read_bytes(), board), board)
    constants = [pool.size_bytes for pool in factory.interface.pools if pool.is_constant]
    # The linker script rounds the section of a pool up to words.
    assert memory.pools == -(-factory.interface.workspace_size_bytes // 4) * 4
    assert memory.constants <= sum(constants)


@pytest.mark.slow
@pytest.mark.board
def test_state_that_outlives_a_reset(tmp_path):
    """tests/python/boards/test_lasting_state.py resets the processor."""
    require_board(board_named("mps3-an547"))
    (tmp_path / "stream.tflite").write_bytes(delay(VECTOR, "random"))
    assert carry_out(STATE, tmp_path) == 2
    with tarfile.open(tmp_path / "stream.tar") as archive:
        archive.extractall(tmp_path, filter="data")
    assert "*(.noinit.sram)" in (tmp_path / "project/board.ld").read_text()


@pytest.mark.cc
@pytest.mark.parametrize("path", ["memory-pools.md", "accelerators.md", "state.md"])
def test_pages_that_are_linked_exist(path):
    assert f"({path}" in PAGE
    assert (Path(ROOT) / "docs" / path).exists()
