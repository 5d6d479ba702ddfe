"""For which machine, and which ABI, is an object file?"""

from __future__ import annotations

import sys
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import IO

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import ARMAttributesSection


def foreign_machine(content: bytes) -> str | None:
    """The machine that an ELF object file is for, or None if it is this host, or not known."""
    found, host = machine_of(content), _host_machine()
    return None if host is None or found == host else found


def machine_of(content: bytes) -> str | None:
    """Word size and machine of an ELF file, such as "32-bit ARM"; None of any other file."""
    return _machine(BytesIO(content))


def has_float_registers(content: bytes) -> bool:
    """Whether functions of an ELF file for Arm take floats in registers of the FPU, as the Arm ABI
    has it (Tag_ABI_VFP_args in "Addenda to, and Errata in, the ABI for the Arm Architecture").

    Any other file, and a damaged one, says nothing of that: False.
    """
    try:
        return any(
            (attribute.tag, attribute.value) == ("TAG_ABI_VFP_ARGS", 1)
            for section in ELFFile(BytesIO(content)).iter_sections()
            if isinstance(section, ARMAttributesSection)
            for vendor in section.iter_subsections()
            for part in vendor.iter_subsubsections()
            for attribute in part.iter_attributes()
        )
    except (ELFError, UnicodeDecodeError):
        return False


@cache
def _host_machine() -> str | None:
    """Of the interpreter that runs this."""
    try:
        with Path(sys.executable).open("rb") as executable:
            return _machine(executable)
    except OSError:
        return None


def _machine(file: IO[bytes]) -> str | None:
    try:
        elf = ELFFile(file)
    except ELFError:
        return None
    machine = elf["e_machine"]
    # The library names the numbers that it knows.
    known = f"machine number {machine}" if isinstance(machine, int) else elf.get_machine_arch()
    return f"{elf.elfclass}-bit {known}"
