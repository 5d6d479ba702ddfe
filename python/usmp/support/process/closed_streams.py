"""Standard streams that were closed when the process began, such as by `>&-` in a shell."""

from __future__ import annotations

import os
import sys

_NUMBERS = {"stdout": 1, "stderr": 2}


def lead_nowhere_if_closed(stream: str) -> None:
    """Redirect "stdout" or "stderr" of `sys` to the null device if it is closed, so that no file
    that is opened later gets its descriptor."""
    if getattr(sys, stream) is None:
        nowhere, number = open(os.devnull, "w"), _NUMBERS[stream]  # noqa: SIM115
        os.dup2(nowhere.fileno(), number)
        os.set_inheritable(number, True)
        setattr(sys, stream, nowhere)
