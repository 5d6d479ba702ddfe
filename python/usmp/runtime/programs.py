"""Programs that end with this one: compilers, make, emulators."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from usmp.support.termination import postponed_signals, undo_at_signal


def run_program(
    command: Sequence[str],
    directory: Path | None = None,
    temporary: Path | None = None,
    timeout_seconds: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program without input to its end.

    It and all that it starts are killed, and waited for, if that end does not come: in time, or
    because of an exception or a signal.

    Parameters
    ----------
    command
        the program and its arguments.
    directory
        where it runs; here by default.
    temporary
        the folder for its temporary files; what is killed cannot remove them.

    Raises
    ------
    OSError
        it cannot be started.
    subprocess.TimeoutExpired
        it took longer.
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
            # What it starts is in its group, which can be killed as a whole.
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
    """Not by the methods of `Popen`: a signal may have interrupted one that holds a lock."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(leader, 0)
