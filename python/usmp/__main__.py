"""`tvmc`, and `python -m usmp`, as a process of its own."""

from __future__ import annotations

import gc
import signal
import sys

from usmp.support.termination import end, end_by_signals, ignore_signals

_OBJECTS = 50_000
"""Made before Python looks for cycles among the newest. A compiler makes many that stay and few
cycles: at the usual 700, a tenth of the time goes there."""


def main() -> int:
    """Run the command line; signals end it with one line from the first moment to the last."""
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


if __name__ == "__main__":
    sys.exit(main())
