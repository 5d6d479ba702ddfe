"""Places that a model may have to fit: limits, emulated boards, real parts, boards of the user."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from usmp.driver.errors import UsageError
from usmp.driver.options.byte_count import BYTES, INT64_MAX, byte_count, bytes_option
from usmp.names import BOARDS, CORES, RISCV_CORES
from usmp.parts import PARTS
from usmp.support.text.known_names import unknown_name
from usmp.support.text.plain_text import shown

ALL = "all"


@dataclass(frozen=True)
class Place:
    """A pair of RAM and flash limits, or a board, that a model may have to fit.

    Parameters
    ----------
    name
        name as the user wrote it.
    core
        core to compile for; empty to use `--target`.
    ram_bytes, flash_bytes
        limits in bytes; None for no limit, and for an emulated board, which has its own sizes.
    source
        where the sizes come from.
    is_board
        whether it is an emulated board for which programs are linked.
    """

    name: str
    core: str = ""
    ram_bytes: int | None = None
    flash_bytes: int | None = None
    source: str = ""
    is_board: bool = False


def add_place_options(parser: Any) -> None:
    """Add `--max-ram`, `--max-flash`, `--boards` and `--board-memory`."""
    for memory in ("ram", "flash"):
        parser.add_argument(
            f"--max-{memory}",
            type=bytes_option,
            metavar="BYTES",
            help=f"the {'RAM' if memory == 'ram' else memory} that there is, such as 64K",
        )
    parser.add_argument(
        "--boards",
        metavar=f"NAME,NAME|{ALL}",
        help="boards and parts to fit (tvmc list boards, tvmc list parts)",
    )
    parser.add_argument(
        "--board-memory",
        action="append",
        default=[],
        metavar="NAME:ram=BYTES,flash=BYTES[,core=CORE]",
        help="a board of your own to fit, with the -mcpu of its core; may be repeated",
    )


def places(options: argparse.Namespace) -> list[Place]:
    """Return the places that the options name: limits, then boards of the user, then boards.

    Raises
    ------
    UsageError
        no place is named, a name is unknown or repeated, or a `--board-memory` is malformed.
    """
    named = []
    if options.max_ram is not None or options.max_flash is not None:
        named.append(Place("limits", "", options.max_ram, options.max_flash, "the command line"))
    named += [_described(text) for text in options.board_memory]
    if options.boards is not None:
        named += _named(options.boards)
    if not named:
        raise UsageError(
            "name what the model has to fit: --max-ram, --max-flash, --boards or --board-memory. "
            "See tvmc check --help"
        )
    names = [place.name for place in named]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f'"{shown(name)}" is named twice; name each board once')
    return named


def _named(text: str) -> list[Place]:
    names = [name.strip() for name in text.split(",")]
    if names == [ALL]:
        names = [*BOARDS, *PARTS]
    return [_place(name) for name in names]


def _place(name: str) -> Place:
    if name in BOARDS:
        return Place(name, is_board=True)
    if name in PARTS:
        part = PARTS[name]
        return Place(name, part.core, part.ram_bytes, part.flash_bytes, part.source)
    see = "See tvmc list boards and tvmc list parts. Describe others with --board-memory"
    problem = f'--boards: unknown board "{shown(name)}"'
    raise UsageError(unknown_name(problem, name, [*BOARDS, *PARTS], "Boards", see))


def _described(text: str) -> Place:
    """Parse a place from "NAME:ram=64K,flash=512K,core=cortex-m4"."""
    name, separator, rest = text.partition(":")
    if ";" in rest:
        raise _malformed(text, 'separate ram=, flash= and core= by ","')
    values: dict[str, str] = {}
    for setting in rest.split(",") if separator else []:
        key, has_value, value = setting.strip().partition("=")
        if not has_value or key not in ("ram", "flash", "core") or key in values:
            raise _malformed(text, f'"{shown(setting)}" is not one of ram=, flash= and core=')
        values[key] = value.strip()
    if not name.strip() or "ram" not in values or "flash" not in values:
        raise _malformed(text, "a name, ram= and flash= are needed")
    sizes = [_bytes(text, values[key]) for key in ("ram", "flash")]
    core = values.get("core", "")
    if core and core.split("+")[0] not in CORES and core not in RISCV_CORES:
        problem = f'--board-memory {shown(text)}: unknown core "{shown(core)}"'
        raise UsageError(unknown_name(problem, core, [*CORES, *RISCV_CORES], "Cores"))
    return Place(name.strip(), core, sizes[0], sizes[1], "the command line")


def _bytes(text: str, value: str) -> int:
    number = byte_count(value)
    if number is None or number > INT64_MAX:
        raise _malformed(text, f"{shown(value)} is no number of {BYTES}")
    return number


def _malformed(text: str, reason: str) -> UsageError:
    return UsageError(
        f"--board-memory {shown(text)}: {reason}; write it as in "
        "mine:ram=64K,flash=512K,core=cortex-m4"
    )


def is_within(options: argparse.Namespace, fitting: Sequence[tuple[Place, bool]]) -> bool:
    """Return whether the model fits all named places, and at least one of `--boards all`."""
    any_of = options.boards is not None and options.boards.strip() == ALL
    listed = {*BOARDS, *PARTS} if any_of else set()
    named = [fits for place, fits in fitting if place.name not in listed]
    offered = [fits for place, fits in fitting if place.name in listed]
    return all(named) and (not offered or any(offered))
