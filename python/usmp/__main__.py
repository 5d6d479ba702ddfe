"""`tvmc`, and `python -m usmp`, as a process of its own."""

from __future__ import annotations

import gc
import os
import signal
import sys

from usmp.support.process.termination import end, end_by_signals, ignore_signals

_OBJECTS = 50_000
"""Objects between two runs of Python's cycle collector. A compiler makes many objects that stay,
and few cycles: with the usual 700 objects, the collector takes a tenth of the time."""


def main() -> int:
    """Run the command line; a signal at any moment ends it with a message of one line."""
    if sys.stdout is None:
        # Do this first, because the handler's copy of stderr could get the number of stdout.
        from usmp.support.process.closed_streams import lead_nowhere_if_closed

        lead_nowhere_if_closed("stdout")
    end_by_signals("tvmc")
    gc.set_threshold(_OBJECTS)
    # Import after the signal handler is set, because this import takes most of the start.
    from usmp.driver import tvmc

    try:
        return tvmc.main()
    except KeyboardInterrupt:
        end(signal.SIGINT)
    finally:
        ignore_signals()


def run() -> int:
    """Run `main`, and end the process like Python, but without freeing all objects of a model,
    which takes a tenth of the time of `tvmc plan`. Return the status instead if a stream
    cannot be flushed, or if there are other threads or a profiler, which need Python's own end."""
    status = main()
    # After the signal handler, like the import above.
    import threading

    if threading.active_count() == 1 and not (sys.gettrace() or sys.getprofile()):
        _end(status)
    return status


def _end(status: int) -> None:
    import atexit

    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # Python reports that a stream is closed or full.
    os._exit(status)


if __name__ == "__main__":
    sys.exit(run())
