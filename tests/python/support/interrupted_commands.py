"""Commands that signals end: when, and what is left of them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.children import TVMC, ended, start, wait_until

_MARK = "USMP_TEST_COMMAND"


@dataclass(frozen=True)
class Ended:
    """What a command left.

    Parameters
    ----------
    status, stdout, stderr
        as its parent process sees them.
    temporary
        files in the folder for temporary files.
    processes
        that it started, directly or not, and that still run.
    seconds
        from the signal to the end.
    """

    status: int
    stdout: str
    stderr: str
    temporary: list[str]
    processes: list[int]
    seconds: float


def ended_by(
    arguments: Sequence[object],
    folder: Path,
    moment: Callable[[subprocess.Popen[str]], object],
    *signals: signal.Signals,
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """Run `tvmc`, send it signals, and wait for its end.

    Parameters
    ----------
    arguments
        of the command.
    folder
        an empty one for temporary files is made in it.
    moment
        returns when the signals are to be sent.
    environment
        variables beside those of this process.
    """
    temporary = folder / f"temporary-{uuid.uuid4().hex}"
    temporary.mkdir()
    mark = uuid.uuid4().hex
    process = start(
        TVMC,
        *arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, **(environment or {}), "TMPDIR": str(temporary), _MARK: mark},
    )
    moment(process)
    for number in signals:
        if process.poll() is None:
            process.send_signal(number)
    sent = time.monotonic()
    stdout, stderr = ended(process)
    seconds = time.monotonic() - sent
    left = sorted(path.name for path in temporary.iterdir())
    return Ended(process.returncode, stdout, stderr, left, _marked_processes(mark), seconds)


def at_start(process: subprocess.Popen[str]) -> None:
    """Return as soon as the command takes care of signals, one after the other: Python itself
    leaves these two alone."""
    wait_until(process, lambda: {signal.SIGTERM, signal.SIGHUP} <= _handled(process.pid))


def after(seconds: float) -> Callable[[subprocess.Popen[str]], None]:
    """A moment so long after the start, or the end of the command."""

    def wait(process: subprocess.Popen[str]) -> None:
        at_start(process)
        end = time.monotonic() + seconds
        wait_until(process, lambda: time.monotonic() >= end)

    return wait


def _handled(pid: int) -> set[int]:
    """The signals that a process catches."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return set()
    mask = int((status.partition("SigCgt:")[2].split() or ["0"])[0], 16)
    return {number for number in signal.valid_signals() if mask >> number - 1 & 1}


def _marked_processes(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"{_MARK}={mark}".encode() in _environment(entry):
                found.append(int(entry.name))
        except OSError:
            continue  # It has ended meanwhile.
    return found


def _environment(process: Path) -> list[bytes]:
    return (process / "environ").read_bytes().split(b"\0")
