"""How many bytes the machine code of a built model takes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from usmp.boards.board import Board, board_named
from usmp.executor_factory import AOTExecutorFactoryModule
from usmp.exploration.result import COMPILED, ESTIMATED, UNKNOWN
from usmp.names import GENERIC_CORE
from usmp.objects.cores import named_core
from usmp.runtime.programs import run_program
from usmp.runtime.write_files import write_files
from usmp.support.temporary_folder import temporary_folder

_FLAGS = ("-std=c99", "-O2", "-w", "-fno-asynchronous-unwind-tables", "-fno-pic")
"""The optimization is that of the project for a board."""

_ARM = "mps2-an385"
"""A board with the compiler for all Cortex-M."""

_known: dict[str, int | None] = {}
"""Bytes by what was compiled, and with what: configurations often differ in sizes of pools only."""


def code_size(factory: AOTExecutorFactoryModule) -> tuple[int | None, str, str | None]:
    """The bytes of code with its tables, without constant pools and the C library.

    Returns
    -------
    tuple[int | None, str, str | None]
        The bytes; one of `CODE_KINDS`; what they are from. For a core, or a board, there must be
        its compiler; portable C is for any, and the compiler of this host gives an estimate.
    """
    files = factory.files()
    constants = sum(
        pool.size_bytes for pool in factory.interface.pools if pool.is_constant and pool.is_internal
    )
    objects = [content for name, content in files.items() if name.endswith(".o")]
    if objects:
        sizes = [_size(content) for content in objects]
        known = [size for size in sizes if size is not None]
        if len(known) < len(sizes):
            return None, UNKNOWN, None
        # The C beside it holds the pools, and calls the code.
        return sum(known), COMPILED, "LLVM"
    kind, command = _compiler(factory)
    version = _version(command[0])
    if version is None:
        return None, UNKNOWN, None
    size = _compiled_size(files, command, version)
    if size is None or size < constants:
        return None, UNKNOWN, None
    return size - constants, kind, f"{version}, -O2"


def _compiler(factory: AOTExecutorFactoryModule) -> tuple[str, list[str]]:
    """Whose code it makes, and the compiler with the options for the core."""
    board = factory.board
    if board is not None:
        return COMPILED, [board.toolchain.compiler, *_options(board)]
    function = factory.ir_mod[factory.interface.entries[0].function]
    core = named_core(function.attrs["target"])
    if core is None or core == GENERIC_CORE:
        return ESTIMATED, os.environ.get("CC", "").split() or ["cc"]
    # Portable between cores with and without an FPU.
    arm = board_named(_ARM)
    return COMPILED, [
        arm.toolchain.compiler,
        *arm.toolchain.options,
        f"-mcpu={core}",
        "-mthumb",
        "-mfloat-abi=softfp",
    ]


def _options(board: Board) -> Sequence[str]:
    return (*board.toolchain.options, *board.cpu_flags)


@cache
def _version(compiler: str) -> str | None:
    """Its name and version; None if it is not there."""
    try:
        done = run_program([compiler, "-dumpfullversion", "-dumpversion"])
    except OSError:
        return None
    words = done.stdout.split()
    if done.returncode or not words:
        return None
    return f"{Path(compiler).name} {words[0]}"


def _compiled_size(files: Mapping[str, bytes], command: Sequence[str], version: str) -> int | None:
    """Bytes in flash of all C of an archive; None if it cannot be compiled."""
    needed = {name: text for name, text in files.items() if name.startswith("codegen/")}
    digest = hashlib.sha256(repr((sorted(needed.items()), command, version)).encode()).hexdigest()
    if digest not in _known:
        _known[digest] = _compile(needed, command)
    return _known[digest]


def _compile(files: Mapping[str, bytes], command: Sequence[str]) -> int | None:
    total = 0
    with temporary_folder() as directory:
        sources = [path for path in write_files(files, directory) if path.suffix == ".c"]
        include = f"-I{directory / 'codegen/host/include'}"
        for number, source in enumerate(sources):
            made = directory / f"{number}.o"
            arguments = [*command, *_FLAGS, include, "-c", str(source), "-o", str(made)]
            try:
                done = run_program(arguments, temporary=directory)
                size = None if done.returncode else _size(made.read_bytes())
            except OSError:
                return None
            if size is None:
                return None
            total += size
    return total


def _size(content: bytes) -> int | None:
    """What an object file puts into flash: code, tables, and first values of variables."""
    try:
        return sum(
            section["sh_size"]
            for section in ELFFile(BytesIO(content)).iter_sections()
            if section["sh_flags"] & SH_FLAGS.SHF_ALLOC and section["sh_type"] != "SHT_NOBITS"
        )
    except ELFError:
        return None
