"""Keep TVM's C++ log lines, which go straight to the process's stderr, out of the way."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from usmp.support.closed_streams import lead_nowhere_if_closed

_KEEP_LOG = "TVM_LOG_DEBUG"


@contextmanager
def silenced_native_log() -> Iterator[TextIO]:
    """Send what C++ writes to stderr nowhere; yields a stream that still reaches the user.

    TVM warns about its own internals when an import fails half-way, which would hide the one line
    that says why. Set TVM_LOG_DEBUG to see everything.
    """
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
