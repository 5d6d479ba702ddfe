"""What commands print fits the terminal, whatever its width: no word is broken, none is lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len
from tvm.ir.transform import PassContext

import usmp
from conftest import ROOT
from support import levels
from support.small_digits import small_digits
from usmp.driver.inspect import check_builds
from usmp.driver.tvmc import main

pytestmark = pytest.mark.usefixtures("one_session")

DIGITS = ROOT / "examples/digits/digits_int8.tflite"
WIDTHS = (60, 80, 100)
WIDEST = 1000


@pytest.fixture(scope="module")
def small_archives(tmp_path_factory) -> list[Path]:
    """Archives of one model with and without overlap, which have different sizes."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "model.tflite").write_bytes(small_digits())
    for overlap in (True, False):
        with PassContext(disabled_pass=[] if overlap else ["OverlapInputsAndOutputs"]):
            factory = usmp.build(usmp.import_model(folder / "model.tflite"))
        factory.export_model_library_format(folder / f"{overlap}.tar")
    return [folder / "True.tar", folder / "False.tar"]


Printed = Callable[..., list[str]]


@pytest.fixture
def printed(monkeypatch, capfd) -> Printed:
    """What a command prints on a terminal of some columns, as lines."""

    def run(columns: int, *arguments: object) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        capfd.readouterr()
        assert main([str(argument) for argument in arguments]) in (0, 2)
        return capfd.readouterr().out.splitlines()

    return run


def words(lines: list[str]) -> set[str]:
    """The words that names and sentences are made of, but those of which a part is left out."""
    text = re.sub(r"\w*…\w*", "", "\n".join(lines))
    return set(re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", text))


def check(printed: Printed, *arguments: object, widths: tuple[int, ...] = WIDTHS) -> None:
    whole = words(printed(WIDEST, *arguments))
    for width in widths:
        lines = printed(width, *arguments)
        assert [line for line in lines if cell_len(line) > width] == []
        assert words(lines) <= whole
        # A heading, a rule and no row.
        assert not re.search(r"─\n(\s*\n|$)", "\n".join(lines) + "\n")


OF_AN_ARCHIVE = {
    "plan": ("plan",),
    "operators": ("plan", "--operators"),
    "map": ("plan", "--map"),
    "explain": ("explain",),
    "info": ("info",),
}


@pytest.mark.slow
@pytest.mark.parametrize("command", OF_AN_ARCHIVE.values(), ids=OF_AN_ARCHIVE)
def test_archives(printed, digits_archive, command):
    check(printed, *command, digits_archive)


@pytest.mark.slow
@pytest.mark.models
def test_long_names_and_states(printed, tmp_path, shared_model):
    model, archive = shared_model("mww_okay_nabu_v2_int8"), tmp_path / "long.tar"
    usmp.build(usmp.import_model(model)).export_model_library_format(archive)
    check(printed, "info", model)
    for command in OF_AN_ARCHIVE.values():
        check(printed, *command, archive)


@pytest.mark.parametrize("command", [("info", DIGITS), ("list",)], ids=["info", "list"])
def test_without_a_plan(printed, command):
    check(printed, *command)


@pytest.mark.slow
@pytest.mark.cc
def test_code_is_measured(printed, small_archives):
    check(printed, "diff", *small_archives)
    check(printed, "check", small_archives[0], "--max-ram", "64K", "--max-flash", "1K")


@pytest.mark.board
def test_all_boards(printed, small_archives, monkeypatch):
    if not levels.is_long_run():
        # What stands in the place of the bytes of code is as wide.
        monkeypatch.setattr(check_builds.shutil, "which", lambda program: None)
    check(printed, "check", small_archives[0], "--boards", "all", widths=(60,))


@pytest.mark.slow
@pytest.mark.parametrize("columns", levels.sample([1, 2, 3, 5], 2))
def test_terminals_of_hardly_any_width(printed, digits_archive, columns):
    for command in OF_AN_ARCHIVE.values():
        assert printed(columns, *command, digits_archive)
    assert printed(columns, "list")


def test_a_sentence_is_a_line_of_what_is_no_terminal(monkeypatch, capsys, digits_archive, tmp_path):
    monkeypatch.delenv("COLUMNS", raising=False)
    path = tmp_path / f"{'long_' * 30}name.tar"
    path.write_bytes(digits_archive.read_bytes())
    assert main(["info", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith(f"{path}: ")
    assert main(["plan", "--operators", str(path)]) == 0
    assert "where outputs lie over inputs that die." in capsys.readouterr().out


def test_an_index_stays_with_its_operator(printed, digits_archive):
    for columns in (50, 60, 80):
        lines = printed(columns, "plan", "--operators", digits_archive)
        assert not [line for line in lines if re.search(r"[a-z_,] \d+$|^\s+\d+\s*$", line)]
        assert "\u00a0" not in "\n".join(lines)
