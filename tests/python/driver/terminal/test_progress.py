"""Progress: on a terminal, on stderr, and nowhere else."""

from __future__ import annotations

import argparse
import io
import os
import pty
import re
import subprocess

import pytest

from support.children import SECONDS, TVMC, run_tvmc, start
from usmp.driver.options.build_options import add_build_options, build_model
from usmp.driver.terminal.progress import silent, stages
from usmp.driver.terminal.shown_warnings import shown_warnings
from usmp.tvm018.old_name import accepted


def on_a_terminal(*arguments: object) -> tuple[str, str]:
    """Stdout, and what a terminal that is only stderr gets."""
    terminal, end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    process = start(TVMC, *arguments, stdout=subprocess.PIPE, stderr=end, env=environment)
    os.close(end)
    shown = b""
    try:
        while part := os.read(terminal, 4096):
            shown += part
    except OSError:
        pass  # What a terminal says at its end.
    os.close(terminal)
    stdout, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    return stdout, shown.decode()


@pytest.mark.slow
def test_stages_are_shown_in_order_and_stdout_is_as_ever(tvmc, small_model, tmp_path):
    arguments = ("compile", small_model, "-o", tmp_path / "model.tar")
    stdout, shown = on_a_terminal(*arguments)
    plain = tvmc(*arguments)
    assert (stdout, plain.stderr) == (plain.stdout, "")
    assert "loading TVM ..." in shown
    assert shown.isascii()
    # The line is erased at the end, and the cursor is back.
    assert shown.rstrip().endswith(("\x1b[2K", "\x1b[?25h"))


@pytest.mark.slow
def test_quiet_shows_nothing(small_model, tmp_path):
    terminal, end = pty.openpty()
    try:
        arguments = ("plan", small_model, "--quiet")
        done = run_tvmc(*arguments, folder=tmp_path, environment={"TERM": "xterm"}, stderr=end)
        assert done.returncode == 0
        os.set_blocking(terminal, False)
        with pytest.raises(BlockingIOError):
            os.read(terminal, 1)
    finally:
        os.close(end)
        os.close(terminal)


def test_stages_of_a_build(small_model):
    parser = argparse.ArgumentParser()
    add_build_options(parser)
    options = parser.parse_args([str(small_model)])
    passed = []
    shown = build_model(options, passed.append)
    assert passed == ["loading TVM", f"reading {small_model}", "lowering", "planning"]
    assert shown.source == build_model(options, silent).source


@pytest.mark.parametrize("quiet", [False, True])
def test_no_terminal_no_stages(quiet):
    stream = io.StringIO()
    with stages(argparse.Namespace(quiet=quiet, stderr=stream)) as stage:
        assert stage is silent
        stage("planning")
    assert stream.getvalue() == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_stage_is_shown_as_it_is_named(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with stages(argparse.Namespace(quiet=False, stderr=stream)) as stage:
        stage("reading [b]x[/b].tflite")
    assert "reading [b]x[/b].tflite ..." in stream.getvalue()


def test_notes_follow_the_line_of_a_stage(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    options = argparse.Namespace(quiet=False, stderr=stream)
    with shown_warnings(options, stream):
        with stages(options) as stage:
            stage("planning")
            accepted("--a", "changes nothing").tell()
            assert "note" not in stream.getvalue()
        shown = stream.getvalue()
    assert shown == stream.getvalue()
    # The line of the stage is erased before.
    assert re.search(r"\x1b\[2K[^a-z]*tvmc: note: --a: changes nothing\n$", shown)


@pytest.mark.parametrize("quiet", ["-q", "--quiet"])
def test_quiet_compile_prints_nothing(tvmc, small_model, quiet):
    outcome = tvmc("compile", small_model, "-o", "model.tar", quiet)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "", "")


@pytest.mark.slow
@pytest.mark.cc
def test_quiet_keeps_what_was_asked_for(tvmc, small_model, digits_archive):
    assert tvmc("plan", small_model, "-q").stdout == tvmc("plan", small_model).stdout
    assert tvmc("run", digits_archive, "-q").stdout == tvmc("run", digits_archive).stdout
    assert tvmc("run", "missing.tar", "-q").stderr == (
        "tvmc: error: missing.tar: No such file or directory\n"
    )
