"""Hide the log lines that TVM's C++ writes directly to the stderr of the process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from usmp.support.process.closed_streams import lead_nowhere_if_closed
from usmp.support.process.compiler_lock import process_lock

_KEEP_LOG = "TVM_LOG_DEBUG"

_command_lock = process_lock()


@contextmanager
def silenced_native_log() -> Iterator[TextIO]:
    """Discard what C++ writes to stderr, and yield a stream that still reaches the user.

    If an import fails, TVM warns about its own internals, which would hide the message of the
    error. Set TVM_LOG_DEBUG to see everything.

    The process has a single stderr, so commands in other threads wait for the end of this one.
    """
    with _command_lock, _silenced() as user:
        yield user


@contextmanager
def _silenced() -> Iterator[TextIO]:
    if os.environ.get(_KEEP_LOG) and sys.stderr is not None:
        yield sys.stderr
        return
    stderr = 2
    lead_nowhere_if_closed("stderr")
    sys.stderr.flush()
    saved = os.dup(stderr)
    null_device = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_device, stderr)
    os.close(null_device)
    try:
        with os.fdopen(os.dup(saved), "w", encoding="utf-8", errors="replace") as user:
            yield user
    finally:
        os.dup2(saved, stderr)
        os.close(saved)
