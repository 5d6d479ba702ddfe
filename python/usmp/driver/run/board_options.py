"""Options of `tvmc run` for a board."""

from __future__ import annotations

import argparse
from typing import Any

_TIMEOUT_SECONDS = 120.0
_LONGEST_SECONDS = 1e6


def add_board_options(parser: Any) -> None:
    """Add the options of a run on a board."""
    parser.add_argument(
        "--board",
        metavar="NAME",
        help="run in the emulator of the board that the archive was compiled for, compare with "
        "the reference build on this host, and report instructions and memory",
    )
    parser.add_argument(
        "--expected",
        metavar="PATH",
        help="with --board or --serial: an .npz file to compare outputs with, not with the "
        "archive's reference build",
    )
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=_TIMEOUT_SECONDS,
        metavar="SECONDS",
        help="with --board or --serial: give up a run that takes longer",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _LONGEST_SECONDS:
        raise argparse.ArgumentTypeError(
            f"{text} is not a number of seconds, above 0 and at most {_LONGEST_SECONDS:.0f}"
        )
    return seconds
