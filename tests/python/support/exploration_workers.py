"""Work for the processes of a sweep that needs no TVM: they import it by its name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any


def echo(shared: Any, task: tuple[str, ...]) -> dict[str, Any]:
    """What came, and where it was done."""
    return {"shared": shared, "task": list(task), "process": os.getpid()}


def crash(shared: Any, task: tuple[str, ...]) -> dict[str, Any]:
    """As what the system ends for lack of memory."""
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def hang(shared: Any, task: tuple[str, ...]) -> dict[str, Any]:
    """Leave a file with the number of the process, and never end; but the task "quick" ends."""
    if task == ("quick",):
        return {}
    (Path(shared) / str(os.getpid())).touch()
    while True:
        time.sleep(1)
