"""`tvmc`, and `python -m usmp`, as a process of its own."""

from __future__ import annotations

import signal
import sys

from usmp.support.termination import end, end_by_signals, ignore_signals


def main() -> int:
    """Run the command line; signals end it with one line from the first moment to the last."""
    end_by_signals("tvmc")
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
