"""`tvmc`, and `python -m usmp`, as a process of its own."""

from __future__ import annotations

import gc
import os
import signal
import sys

from usmp.support.termination import end, end_by_signals, ignore_signals

_OBJECTS = 50_000
"""Made before Python looks for cycles among the newest. A compiler makes many that stay and few
cycles: at the usual 700, a tenth of the time goes there."""


def main() -> int:
    """Run the command line; signals end it with one line from the first moment to the last."""
    if sys.stdout is None:
        # Earlier than the handler, which would take the number of stdout for its own stderr.
        from usmp.support.closed_streams import lead_nowhere_if_closed

        lead_nowhere_if_closed("stdout")
    end_by_signals("tvmc")
    gc.set_threshold(_OBJECTS)
    # Later than the handler: it takes most of the start.
    from usmp.driver import tvmc

    try:
        return tvmc.main()
    except KeyboardInterrupt:
        end(signal.SIGINT)
    finally:
        ignore_signals()


def run() -> int:
    """`main`, and then the end of the process, as Python does it, but that the system takes its
    memory back: to free all objects of a model one after the other takes a tenth of the time of
    `tvmc plan`. Returns where that is left to Python, for other threads or a profiler."""
    status = main()
    # Later than the handler, too.
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
        return  # It is closed or full: Python says so.
    os._exit(status)


if __name__ == "__main__":
    sys.exit(run())
