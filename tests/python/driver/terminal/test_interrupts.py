"""Signals end a command at once and tidily, whenever they come."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support import levels
from support.children import SECONDS, TVMC, run, run_tvmc, start, wait_until
from support.commands import message_of
from support.interrupted_commands import after, at_start, ended_by

SIGINT, SIGTERM, SIGHUP = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
LINES = {
    SIGINT: "tvmc: interrupted\n",
    SIGTERM: "tvmc: terminated\n",
    SIGHUP: "tvmc: terminated, the terminal is gone\n",
}
OLD = b"what was there before"


def extension(folder: Path, text: str) -> str:
    """The option that runs this Python first."""
    path = folder / "extension.py"
    path.write_text(f"import os, signal\n{text}\n")
    return f"--extension={path}"


def check_compile(ended, number: signal.Signals, output: Path, new: bytes) -> None:
    """Either the command did nothing and says why, or all of its work."""
    if ended.status == 0:
        assert ended.stderr == ""
        assert output.read_bytes() == new
    else:
        assert (ended.status, ended.stdout, ended.stderr) == (128 + number, "", LINES[number])
        assert output.read_bytes() == OLD
    assert (ended.temporary, ended.processes) == ([], [])
    assert sorted(path.name for path in output.parent.iterdir()) == [output.name]


@pytest.mark.slow
def test_any_moment_of_compile(small_model, tmp_path):
    output = tmp_path / "output/model.tar"
    output.parent.mkdir()
    arguments = ("compile", small_model, "-o", output)
    started = os.times()
    whole = ended_by(arguments, tmp_path, lambda process: process.wait())
    seconds = os.times().elapsed - started.elapsed
    assert whole.status == 0
    new = output.read_bytes()
    statuses = []
    moments = levels.number(2, 12)
    for index in range(moments):
        number = (SIGINT, SIGTERM)[index % 2]
        twice = (number, number) if index % 3 == 1 else (number,)
        # A command that was measured beside others may take half of the time now.
        for part in (1, 4, 16):
            output.write_bytes(OLD)
            ended = ended_by(arguments, tmp_path, after(seconds * index / moments / part), *twice)
            check_compile(ended, number, output, new)
            if ended.status or index > 1:
                break
        statuses.append(ended.status)
    assert set(statuses[:2]) == {130, 143}


def test_start(tmp_path):
    for number in (SIGINT, SIGTERM, SIGHUP):
        for _ in range(levels.number(1, 4)):
            ended = ended_by(["completion", "bash"], tmp_path, at_start, number)
            assert (ended.status, ended.stderr) in ((128 + number, LINES[number]), (0, ""))


def test_little_is_loaded_before_signals_are_taken_care_of():
    """Until then Python answers, with a traceback."""

    def loaded(*command: str) -> list[str]:
        done = run(sys.executable, "-X", "importtime", *command, check=True)
        lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
        return [line.rpartition("|")[2].strip() for line in lines]

    modules = loaded(TVMC, "--version")
    before = set(modules[: modules.index("usmp.support.process.termination")])
    ours = {name for name in before if name.startswith("usmp")}
    assert ours == {"usmp", "usmp.support", "usmp.support.process"}
    assert not before & {"argparse", "pathlib", "subprocess", "tempfile", "typing"}
    assert "usmp.driver.tvmc" in modules


@pytest.mark.slow
@pytest.mark.parametrize("number", levels.sample(LINES, 1), ids=lambda number: number.name)
def test_programs_and_their_files_go_too(digits_archive, tmp_path, number):
    ready = tmp_path / "ready"
    compiler = tmp_path / "compiler"
    compiler.write_text(f"#!/bin/sh\ntouch $TMPDIR/left\nsleep 600 &\necho > {ready}\nwait\n")
    compiler.chmod(0o755)
    ended = ended_by(
        ["run", digits_archive],
        tmp_path,
        lambda process: wait_until(process, ready.exists),
        number,
        number,
        environment={"CC": str(compiler)},
    )
    assert (ended.status, ended.stdout, ended.stderr) == (128 + number, "", LINES[number])
    assert (ended.temporary, ended.processes) == ([], [])


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_any_moment_of_run(digits_archive, tmp_path):
    for seconds in levels.sample((0, 0.2, 0.4, 0.6, 0.8), 2):
        ended = ended_by(["run", digits_archive], tmp_path, after(seconds), SIGINT)
        assert (ended.status, ended.stderr) in ((130, LINES[SIGINT]), (0, ""))
        assert (ended.temporary, ended.processes) == ([], [])


def test_library_that_swallows_exceptions(tmp_path):
    swallowing = """
try:
    os.kill(os.getpid(), signal.SIGINT)
except BaseException:
    pass
"""
    done = run_tvmc("list", extension(tmp_path, swallowing), folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", LINES[SIGINT])


def test_python_that_ends(tmp_path):
    at_exit = "import atexit\natexit.register(os.kill, os.getpid(), signal.SIGINT)"
    done = run_tvmc("list", "boards", extension(tmp_path, at_exit), folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "mps2-an385" in done.stdout


def test_after_an_error(tmp_path):
    """The user has been told."""
    late = """
import gc
gc.collect = lambda *_: os.kill(os.getpid(), signal.SIGINT)
raise RuntimeError("broken")
"""
    done = run_tvmc("list", extension(tmp_path, late), folder=tmp_path)
    assert (done.returncode, "broken" in message_of(done.stderr)) == (1, True)


@pytest.mark.slow
def test_after_the_output_is_written(small_model, tmp_path):
    """What is done stays done, and the status says so."""
    late = """
import usmp.driver.build.compile
usmp.driver.build.compile.print_summary = lambda factory: os.kill(os.getpid(), signal.SIGINT)
"""
    (tmp_path / "model.tar").write_bytes(OLD)
    arguments = ("compile", str(small_model), "-o", "model.tar")
    done = run_tvmc(*arguments, extension(tmp_path, late), folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "model.tar").read_bytes() != OLD


@pytest.mark.slow
def test_while_the_output_is_written(small_model, tmp_path):
    late = "os.replace = lambda *arguments: os.kill(os.getpid(), signal.SIGTERM)"
    output = tmp_path / "output/model.tar"
    output.parent.mkdir()
    output.write_bytes(OLD)
    arguments = ("compile", str(small_model), "-o", str(output))
    done = run_tvmc(*arguments, extension(tmp_path, late), folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (143, "", LINES[SIGTERM])
    assert output.read_bytes() == OLD
    assert [path.name for path in output.parent.iterdir()] == ["model.tar"]


def test_signal_that_is_ignored_stays_ignored(tmp_path):
    """As under `nohup`, and of commands in the background of a script."""
    kill = "os.kill(os.getpid(), signal.SIGINT)\nos.kill(os.getpid(), signal.SIGHUP)"
    option = extension(tmp_path, kill)
    done = run("sh", "-c", f"trap '' INT HUP; exec {TVMC} list boards {option}")
    assert (done.returncode, done.stderr) == (0, "")
    assert "mps2-an385" in done.stdout


@pytest.mark.slow
def test_terminal_is_as_before(small_digits_model):
    terminal, end = pty.openpty()
    process = start(
        TVMC,
        "plan",
        small_digits_model,
        stdout=subprocess.DEVNULL,
        stderr=end,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(end)
    shown = b""
    while b"loading TVM" not in shown:
        shown += os.read(terminal, 4096)
    process.send_signal(SIGINT)
    try:
        while part := os.read(terminal, 4096):
            shown += part
    except OSError:
        pass  # What a terminal says at its end.
    os.close(terminal)
    assert process.wait(SECONDS) == 130
    # The line is empty, and the cursor is back.
    assert shown.endswith(b"\r\x1b[2K\x1b[?25htvmc: interrupted\r\n")


def test_program_of_somebody_else_handles_signals_as_it_likes():
    script = """
import signal
before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
from usmp.driver import tvmc
tvmc.main(["list"])
after = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
assert before == after
"""
    run(sys.executable, "-c", script, check=True)


@pytest.mark.slow
def test_what_an_extension_registers_for_the_end_of_the_process(tmp_path, small_model):
    """It runs once, and what it writes is there."""
    script = tmp_path / "end.py"
    script.write_text("import atexit\natexit.register(print, 'the end')\n")
    command = ("plan", small_model, "--format", "csv", f"--extension={script}")
    done = run_tvmc(*command, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "the end"
    assert done.stdout.count("the end") == 1


@pytest.mark.slow
def test_a_profiler_sees_the_end():
    profiled = (sys.executable, "-m", "cProfile", "-m", "usmp", "list", "targets")
    done = run(*profiled, check=True)
    assert "function calls" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["1", "2"])
def test_closed_stdout_or_stderr(tmp_path, closed):
    """No file that the command opens gets its number."""
    buffers, output = tmp_path / "buffers.csv", tmp_path / "plan.csv"
    buffers.write_text("id,lower,upper,size\na,0,1,4\n")
    command = f"{TVMC} plan --buffers {buffers} --format csv"
    for line in (f"{command} -o {output} {closed}>&-", f"exec {command} {closed}>&-"):
        done = run("sh", "-c", line)
        assert (done.returncode, done.stderr) == (0, "")
    planned = "id,lower,upper,size,offset\na,0,1,4,0\n"
    assert output.read_text() == planned
    assert done.stdout == ("" if closed == "1" else planned)
