"""What a model may have to fit: limits, emulated boards, real parts, boards of the user."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from usmp.driver.errors import UsageError
from usmp.driver.options.byte_count import INT64_MAX, byte_count
from usmp.names import BOARDS, CORES, RISCV_CORES
from usmp.parts import PARTS
from usmp.support.plain_text import shown

ALL = "all"
_BYTES = "bytes, such as 65536, 0x10000 or 64K"


@dataclass(frozen=True)
class Place:
    """What a model may have to fit.

    Parameters
    ----------
    name
        as the user wrote it.
    core
        that it is compiled for; empty for what `--target` says.
    ram_bytes, flash_bytes
        None if there is no limit, or `board` has it.
    source
        where these are from.
    is_board
        whether it is a board that programs are built for.
    """

    name: str
    core: str = ""
    ram_bytes: int | None = None
    flash_bytes: int | None = None
    source: str = ""
    is_board: bool = False


def add_place_options(parser: Any) -> None:
    """Add `--max-ram` and the others."""
    for what in ("ram", "flash"):
        parser.add_argument(
            f"--max-{what}",
            type=_size,
            metavar="BYTES",
            help=f"the {'RAM' if what == 'ram' else what} that there is, such as 64K",
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
    """What the options name, in this order: limits, boards of the user, boards.

    Raises
    ------
    UsageError
        nothing is named, a name is unknown or comes twice, or a board cannot be read.
    """
    found = []
    if options.max_ram is not None or options.max_flash is not None:
        found.append(Place("limits", "", options.max_ram, options.max_flash, "the command line"))
    found += [_described(text) for text in options.board_memory]
    if options.boards is not None:
        found += _named(options.boards)
    if not found:
        raise UsageError(
            "name what the model has to fit: --max-ram, --max-flash, --boards or --board-memory "
            "(see tvmc check --help)"
        )
    names = [place.name for place in found]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f'"{shown(name)}" is named twice; name each board once')
    return found


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
    raise UsageError(
        f'--boards: unknown board "{shown(name)}"; tvmc list boards and tvmc list parts show '
        "those that are known, and --board-memory describes others"
    )


def _described(text: str) -> Place:
    """What "NAME:ram=64K,flash=512K,core=cortex-m4" means."""
    name, separator, rest = text.partition(":")
    values: dict[str, str] = {}
    for setting in rest.split(",") if separator else []:
        key, has_value, value = setting.strip().partition("=")
        if not has_value or key not in ("ram", "flash", "core") or key in values:
            raise _undescribed(text, f'"{shown(setting)}" is not one of ram=, flash= and core=')
        values[key] = value.strip()
    if not name.strip() or "ram" not in values or "flash" not in values:
        raise _undescribed(text, "a name, ram= and flash= are needed")
    sizes = [_bytes(text, values[key]) for key in ("ram", "flash")]
    core = values.get("core", "")
    if core and core.split("+")[0] not in CORES and core not in RISCV_CORES:
        known = ", ".join([*CORES, *RISCV_CORES])
        raise _undescribed(text, f'core "{shown(core)}" is not one of {known}')
    return Place(name.strip(), core, sizes[0], sizes[1], "the command line")


def _bytes(text: str, value: str) -> int:
    number = byte_count(value)
    if number is None or number > INT64_MAX:
        raise _undescribed(text, f"{shown(value)} is no number of {_BYTES}")
    return number


def _undescribed(text: str, why: str) -> UsageError:
    return UsageError(
        f"--board-memory {shown(text)}: {why}; write it as in "
        "mine:ram=64K,flash=512K,core=cortex-m4"
    )


def _size(text: str) -> int:
    number = byte_count(text)
    if number is None or number > INT64_MAX:
        raise argparse.ArgumentTypeError(f"must be {_BYTES}, not {shown(text)}")
    return number


def is_within(options: argparse.Namespace, fitting: Sequence[tuple[Place, bool]]) -> bool:
    """Whether the model fits: all that is named, and of `--boards all` at least one."""
    any_of = options.boards is not None and options.boards.strip() == ALL
    listed = {*BOARDS, *PARTS} if any_of else set()
    named = [fits for place, fits in fitting if place.name not in listed]
    offered = [fits for place, fits in fitting if place.name in listed]
    return all(named) and (not offered or any(offered))
