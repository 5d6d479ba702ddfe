"""For which machine is an object file?"""

from __future__ import annotations

import struct
import sys
from functools import cache
from pathlib import Path

_MAGIC = b"\x7fELF"
_MACHINES = {3: "x86", 40: "Arm", 62: "x86", 183: "Arm", 243: "RISC-V"}
_WIDTHS = {1: "32-bit", 2: "64-bit"}


def foreign_machine(content: bytes) -> str | None:
    """The machine that an ELF object file is for, or None if it is this host, or not known."""
    found, host = _machine(content), _host_machine()
    if found is None or host is None or found == host:
        return None
    width, number = found
    name = _MACHINES.get(number, f"machine number {number}")
    return f"{_WIDTHS[width]} {name}"


@cache
def _host_machine() -> tuple[int, int] | None:
    """Of the interpreter that runs this."""
    try:
        with Path(sys.executable).open("rb") as executable:
            return _machine(executable.read(20))
    except OSError:
        return None


def _machine(content: bytes) -> tuple[int, int] | None:
    """Word size and machine number of an ELF file."""
    if len(content) < 20 or not content.startswith(_MAGIC) or content[4] not in _WIDTHS:
        return None
    order = ">" if content[5] == 2 else "<"
    (number,) = struct.unpack_from(f"{order}H", content, 18)
    return content[4], number
