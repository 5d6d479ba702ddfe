"""Options of `tvmc run` for a board."""

from __future__ import annotations

from typing import Any

_TIMEOUT_SECONDS = 120.0


def add_board_options(parser: Any) -> None:
    """Add the options of a run on a board."""
    parser.add_argument(
        "--board",
        metavar="NAME",
        help="run in the emulator of the board that the archive was compiled for, compare with "
        "this host, and report instructions and memory",
    )
    parser.add_argument(
        "--expected",
        metavar="PATH",
        help="with --board: an .npz file to compare outputs with, not with this host",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=_TIMEOUT_SECONDS,
        metavar="SECONDS",
        help="with --board: end a program that takes longer",
    )
