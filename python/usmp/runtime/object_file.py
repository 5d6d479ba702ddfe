"""Detect the machine and the float ABI of an object file."""

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
    """Return an ELF file's machine; None if it or the host's is unknown, or they are equal."""
    machine, host = machine_of(content), _host_machine()
    return None if host is None or machine == host else machine


def machine_of(content: bytes) -> str | None:
    """Return word size and machine of an ELF file, such as "32-bit ARM"; None for other files."""
    return _machine(BytesIO(content))


def has_float_registers(content: bytes) -> bool:
    """Return whether functions of an ELF file for Arm take floats in FPU registers.

    The attribute is Tag_ABI_VFP_args of "Addenda to, and Errata in, the ABI for the Arm
    Architecture". The result is False for other files, and for damaged ones.
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
    """Return the machine of the running Python interpreter."""
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
    # elftools replaces known machine numbers by names.
    known = f"machine number {machine}" if isinstance(machine, int) else elf.get_machine_arch()
    return f"{elf.elfclass}-bit {known}"
