"""For which machine is an object file?"""

from __future__ import annotations

import sys
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import IO

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile


def foreign_machine(content: bytes) -> str | None:
    """The machine that an ELF object file is for, or None if it is this host, or not known."""
    found, host = _machine(BytesIO(content)), _host_machine()
    return None if host is None or found == host else found


@cache
def _host_machine() -> str | None:
    """Of the interpreter that runs this."""
    try:
        with Path(sys.executable).open("rb") as executable:
            return _machine(executable)
    except OSError:
        return None


def _machine(file: IO[bytes]) -> str | None:
    """Word size and machine of an ELF file; None of any other file."""
    try:
        elf = ELFFile(file)
    except ELFError:
        return None
    machine = elf["e_machine"]
    # The library names the numbers that it knows.
    known = f"machine number {machine}" if isinstance(machine, int) else elf.get_machine_arch()
    return f"{elf.elfclass}-bit {known}"
