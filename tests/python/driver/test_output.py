"""Output files: whole, or as they were, whatever happens and whatever else writes them."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from support import levels
from support.children import TVMC, run, start
from support.children import ended as streams_of
from support.commands import message_of
from usmp.codegen.write_file import write_file
from usmp.driver.errors import UsageError
from usmp.driver.output import check_output, is_read_on_terminal

OLD = "what was there before"
IS_ROOT = os.geteuid() == 0


@pytest.fixture
def buffers(tmp_path) -> Path:
    """Buffers whose plan is a file of some kilobytes."""
    path = tmp_path / "buffers.csv"
    rows = "".join(f"buffer{i},{i},{i + 2},64\n" for i in range(200))
    path.write_text(f"id,lower,upper,size\n{rows}")
    return path


NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}
"""Python would keep compiled modules that are cut off where files may not grow."""


def plan(buffers: Path, output: str, **options: object) -> subprocess.Popen[str]:
    """A command that writes a file and loads no TVM."""
    command = (TVMC, "plan", "--buffers", buffers.name, "-o", output)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return start(*command, cwd=buffers.parent, **pipes, **options)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    stdout, stderr = streams_of(process)
    return process.returncode, stdout, stderr


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.slow
def test_several_at_once(buffers):
    assert ended(plan(buffers, "alone.json"))[0] == 0
    processes = [plan(buffers, "plan.json") for _ in range(levels.number(3, 5))]
    assert {ended(process) for process in processes} == {(0, "", "")}
    folder = buffers.parent
    assert (folder / "plan.json").read_bytes() == (folder / "alone.json").read_bytes()
    assert files(folder) == {"buffers.csv", "alone.json", "plan.json"}


def test_who_reads_meanwhile_sees_a_whole_file(tmp_path):
    path = tmp_path / "file"
    contents = [bytes([i]) * 2_000_000 for i in range(5)]
    write_file(path, contents[0])

    def work(content: bytes) -> None:
        for _ in range(5):
            write_file(path, content)

    threads = [threading.Thread(target=work, args=[content]) for content in contents]
    for thread in threads:
        thread.start()
    seen = set()
    while any(thread.is_alive() for thread in threads):
        seen.add(path.read_bytes())
    assert seen <= set(contents)
    assert files(tmp_path) == {"file"}


@pytest.mark.slow
def test_full_disk(buffers):
    """As good as one: no file may grow beyond 1000 bytes."""
    output = buffers.parent / "plan.json"
    output.write_text(OLD)
    process = plan(
        buffers,
        "plan.json",
        env={**os.environ, **NO_BYTECODE},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    message = "tvmc: error: plan.json: cannot be written (File too large)\n"
    assert ended(process) == (1, "", message)
    assert output.read_text() == OLD
    assert files(buffers.parent) == {"buffers.csv", "plan.json"}


@pytest.mark.slow
@pytest.mark.cc
def test_full_disk_for_temporary_files(digits_archive, tmp_path):
    done = run(
        *(TVMC, "run", digits_archive),
        env={**os.environ, **NO_BYTECODE, "TMPDIR": str(tmp_path)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert (done.returncode, done.stdout) == (1, "")
    message = message_of(done.stderr)
    assert message.startswith(f"{tmp_path}/usmp-")
    assert message.endswith(": File too large; TMPDIR names another folder for temporary files")
    assert files(tmp_path) == set()


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("missing/plan.json", "No such file or directory"),
        ("folder", "Is a directory"),
        ("file/plan.json", "Not a directory"),
        ("/dev/full", "No space left on device"),
        ("/proc/plan.json", "No such file or directory" if IS_ROOT else "Permission denied"),
    ],
)
def test_place_that_takes_no_file(refused, buffers, output, reason):
    Path("folder").mkdir()
    Path("file").touch()
    message = f"{output}: cannot be written ({reason})"
    assert refused("plan", "--buffers", buffers, "-o", output) == message


def test_place_is_looked_at_first(refused):
    """Nobody searches for an hour and then has nowhere to put what was found."""
    assert refused("compile", "missing.tflite", "-o", "missing/model.tar") == (
        "missing/model.tar: cannot be written (No such file or directory)"
    )


@pytest.fixture
def open_folder(monkeypatch):
    """The current folder, which everybody may write to, for one whom permissions stop."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o777)
        monkeypatch.chdir(name)
        if IS_ROOT:
            os.seteuid(65534)
        yield Path(name)
        if IS_ROOT:
            os.seteuid(0)


@pytest.mark.parametrize("protected", ["folder", "folder/plan.json"])
def test_protected_place(open_folder, protected):
    Path("folder").mkdir()
    Path("folder/plan.json").write_text(OLD)
    Path(protected).chmod(0o555)
    with pytest.raises(UsageError) as caught:
        check_output("folder/plan.json", "buffers.csv", "the plan")
    assert str(caught.value) == "folder/plan.json: cannot be written (Permission denied)"
    with pytest.raises(PermissionError):
        write_file("folder/plan.json", b"new")
    Path("folder").chmod(0o777)
    assert Path("folder/plan.json").read_text() == OLD
    assert files(open_folder / "folder") == {"plan.json"}


@pytest.mark.slow
def test_pipe_gets_the_content(buffers):
    pipe = buffers.parent / "pipe"
    os.mkfifo(pipe)
    process = plan(buffers, "pipe")
    assert "200 buffers" in pipe.read_text()
    assert ended(process) == (0, "", "")
    assert pipe.is_fifo()


@pytest.mark.slow
def test_stdout_by_its_name(buffers):
    status, stdout, stderr = ended(plan(buffers, "/dev/stdout"))
    assert (status, stderr) == (0, "")
    assert "200 buffers" in stdout


@pytest.mark.parametrize(
    ("output", "format", "is_terminal", "is_read"),
    [
        (None, None, True, True),
        (None, "markdown", True, True),
        (None, "json", True, False),
        ("file", None, True, False),
        (None, None, False, False),
    ],
)
def test_readers_of_a_terminal(monkeypatch, output, format, is_terminal, is_read):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    assert is_read_on_terminal(argparse.Namespace(output=output, format=format)) == is_read
