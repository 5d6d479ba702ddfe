"""Options of `tvmc run` for a device on a serial line."""

from __future__ import annotations

import argparse
from typing import Any

_BAUD = 115200
_MOST_BAUD = 100_000_000


def add_serial_options(parser: Any) -> None:
    """Add `--serial`."""
    parser.add_argument(
        "--serial",
        type=_port_and_baud,
        metavar="PORT[,BAUD]",
        help="run on the device at a serial port, whose program has the files of tvmc export-test "
        f"({_BAUD} baud by default), and compare with the reference build on this host",
    )


def check_serial_options(options: argparse.Namespace) -> None:
    """Raise UsageError if `--serial` is combined with `--board`."""
    from usmp.driver.errors import UsageError

    if options.serial and options.board:
        raise UsageError("--serial is for a device of yours, and --board for an emulator; give one")


def _port_and_baud(text: str) -> tuple[str, int]:
    path, separator, number = text.rpartition(",")
    if not separator:
        path, number = text, str(_BAUD)
    is_number = number.isascii() and number.isdigit() and len(number) <= len(str(_MOST_BAUD))
    if not path or not is_number or not 0 < int(number) <= _MOST_BAUD:
        raise argparse.ArgumentTypeError(
            f"{text} is no port and baud rate, as /dev/ttyUSB0,{_BAUD} is"
        )
    return path, int(number)
