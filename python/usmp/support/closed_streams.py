"""Standard streams that were closed when the process began, as by `>&-` of a shell."""

from __future__ import annotations

import os
import sys

_NUMBERS = {"stdout": 1, "stderr": 2}


def lead_nowhere_if_closed(stream: str) -> None:
    """Open "stdout" or "stderr" of `sys` for what nobody reads, if it is closed: no file that is
    opened later may get its number."""
    if getattr(sys, stream) is None:
        nowhere, number = open(os.devnull, "w"), _NUMBERS[stream]  # noqa: SIM115
        os.dup2(nowhere.fileno(), number)
        os.set_inheritable(number, True)
        setattr(sys, stream, nowhere)
