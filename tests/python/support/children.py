"""Processes that tests start: they have the signals of a shell's foreground, and end in time.

A process inherits which signals are ignored or blocked. Under `nohup`, or in the background of a
script, tests of signals would wait for what never comes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NoReturn

import pytest

TVMC = str(Path(sys.executable).with_name("tvmc"))
SECONDS = 300
"""After which a process is killed, and its test fails: many times what any takes."""
WITHOUT_TORCH = {"PYTHONPATH": str(Path(__file__).with_name("without_torch"))}
"""The environment of processes that load TVM, but shall not load PyTorch, which TVM tries."""
_SIGNALS = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE)

Command = Sequence[object]


def run(
    *command: object, timeout: float = SECONDS, check: bool = False, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a command as `subprocess.run` does; its output is text, and captured unless it is sent
    elsewhere."""
    if not {"stdout", "stderr"} & set(options):
        options["capture_output"] = True
    words = [os.fspath(word) if isinstance(word, os.PathLike) else str(word) for word in command]
    with default_signals():
        return subprocess.run(words, text=True, timeout=timeout, check=check, **options)


def start(*command: object, **options: Any) -> subprocess.Popen[str]:
    """Start a process; `ended` waits for it."""
    with default_signals():
        return subprocess.Popen([str(word) for word in command], text=True, **options)


def ended(process: subprocess.Popen[str], timeout: float = SECONDS) -> tuple[str, str]:
    """Return what a process wrote, once it has ended; kill it where it does not."""
    try:
        return process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise


def wait_until(
    process: subprocess.Popen[str], is_so: Callable[[], object], timeout: float = SECONDS
) -> None:
    """Return as soon as something is so, or the process has ended; kill it where neither comes."""
    deadline = time.monotonic() + timeout
    while process.poll() is None and not is_so():
        if time.monotonic() > deadline:
            process.kill()
            pytest.fail(f"what the test waits for did not come within {timeout} seconds")
        time.sleep(0.001)


def run_tvmc(
    *arguments: object,
    folder: Path,
    timeout: float = SECONDS,
    environment: Mapping[str, str] | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `tvmc` as its script does, in a copy of this process, which has loaded TVM.

    Parameters
    ----------
    arguments
        of the command.
    folder
        where it runs.
    environment
        variables beside those of this process.
    stdout, stderr
        the descriptors that it writes to; files that are read afterwards by default.
    """
    words = ["tvmc", *map(str, arguments)]
    with TemporaryFile() as out, TemporaryFile() as error:
        streams = (
            out.fileno() if stdout is None else stdout,
            error.fileno() if stderr is None else stderr,
        )
        with default_signals():
            process = os.fork()
            if process == 0:
                _become_tvmc(words, folder, environment or {}, streams)
        status = _status(process, timeout)
        texts = []
        for stream in (out, error):
            stream.seek(0)
            texts.append(stream.read().decode())
    return subprocess.CompletedProcess(words, status, *texts)


def _become_tvmc(
    words: list[str], folder: Path, environment: Mapping[str, str], streams: tuple[int, int]
) -> NoReturn:
    try:
        import atexit

        # Those of the tests belong to the process of the tests.
        atexit._clear()
        for number in _SIGNALS[:3]:
            is_interrupt = number == signal.SIGINT
            signal.signal(number, signal.default_int_handler if is_interrupt else signal.SIG_DFL)
        for descriptor, stream in enumerate(streams, 1):
            os.dup2(stream, descriptor)
        sys.stdout, sys.stderr = (os.fdopen(n, "w", closefd=False) for n in (1, 2))
        os.environ.update(environment)
        os.chdir(folder)
        sys.argv = words
        from usmp.__main__ import run as run_main
        from usmp.support.process import termination

        # What commands in this process have left.
        termination._State.settled = None
        termination._undo.clear()
        os._exit(run_main())
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(70)


def _status(process: int, timeout: float) -> int:
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        ended_process, status = os.waitpid(process, os.WNOHANG)
        if ended_process:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    raise subprocess.TimeoutExpired("tvmc", timeout)


@contextmanager
def default_signals() -> Iterator[None]:
    """Let processes that are started meanwhile handle signals as Python does, if they will."""
    ignored = [number for number in _SIGNALS if signal.getsignal(number) == signal.SIG_IGN]
    for number in ignored:
        # Handlers are not inherited; this process goes on ignoring the signal.
        signal.signal(number, lambda *_: None)
    blocked = signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
