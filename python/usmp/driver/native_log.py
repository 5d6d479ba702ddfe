"""Keep TVM's C++ log lines, which go straight to the process's stderr, out of the way."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from usmp.support.closed_streams import lead_nowhere_if_closed
from usmp.support.compiler_lock import process_lock

_KEEP_LOG = "TVM_LOG_DEBUG"

_command_lock = process_lock()


@contextmanager
def silenced_native_log() -> Iterator[TextIO]:
    """Send what C++ writes to stderr nowhere; yields a stream that still reaches the user.

    TVM warns about its own internals when an import fails half-way, which would hide the one line
    that says why. Set TVM_LOG_DEBUG to see everything.

    The process has one stderr, so commands in other threads wait until this one has ended.
    """
    with _command_lock, _silenced() as user:
        yield user


@contextmanager
def _silenced() -> Iterator[TextIO]:
    if os.environ.get(_KEEP_LOG) and sys.stderr is not None:
        yield sys.stderr
        return
    number = 2
    lead_nowhere_if_closed("stderr")
    sys.stderr.flush()
    saved = os.dup(number)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
    try:
        with os.fdopen(os.dup(saved), "w", encoding="utf-8", errors="replace") as user:
            yield user
    finally:
        os.dup2(saved, number)
        os.close(saved)
