"""Run other programs (compilers, make, emulators), which end with this process."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from usmp.support.process.termination import postponed_signals, undo_at_signal


def run_program(
    command: Sequence[str],
    directory: Path | None = None,
    temporary: Path | None = None,
    timeout_seconds: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program without input to its end.

    After a timeout, an exception or a signal, kill the program and its child processes.

    Parameters
    ----------
    command
        the program and its arguments.
    directory
        working directory; by default the current one.
    temporary
        folder for temporary files, which a killed program cannot remove itself.
    timeout_seconds
        time limit in seconds; None for no limit.

    Raises
    ------
    OSError
        the program cannot be started.
    subprocess.TimeoutExpired
        the program exceeded its time limit.
    """
    with postponed_signals():
        process = subprocess.Popen(
            command,
            cwd=directory,
            env={**os.environ, "TMPDIR": str(temporary)} if temporary else None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            # Start a process group, which can be killed as a whole.
            start_new_session=True,
        )
        kill = partial(_kill_group, process.pid)
        forget = undo_at_signal(kill)
    with process:
        try:
            output, errors = process.communicate(timeout=timeout_seconds)
        except BaseException:
            kill()
            raise
        finally:
            forget()
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def _kill_group(leader: int) -> None:
    """Kill a process group without `Popen`, whose lock an interrupted method may hold."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(leader, 0)
