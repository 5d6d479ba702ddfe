"""What the code of a model takes, once it is compiled.

Every command that gives a size of code measures it here. Counted is what the code puts into flash
beside constant pools: the functions of the model, their tables, the first values of variables, and
for the core of a microcontroller what they call of the C library. Start-up code and what an
application has besides are not. Code that LLVM made is in object files: where none can link them,
their sections are counted, which is an estimate.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from usmp.runtime.c_compiler import BuildError, tvm_ffi_include
from usmp.runtime.object_file import has_float_registers, machine_of
from usmp.runtime.programs import run_program
from usmp.runtime.stack_use import most_stack_bytes
from usmp.runtime.write_files import write_files
from usmp.support.plain_text import shown
from usmp.support.temporary_folder import temporary_folder

LONGEST_SECONDS = 300.0
"""After which a compiler is ended: an archive may have C that it would never finish."""

OPTIMIZATION = "-O2"
_LLVM = "LLVM"
_NOT_IN_FLASH = (".eh_frame", ".note", ".comment", ".interp", ".gnu")
"""Beginnings of the names of sections that hosts add, and programs for microcontrollers lack."""

_HOST_FLAGS = ("-r", "-nostdlib")
"""One object file, without what other machines would add of their C library."""

_BARE_METAL_FLAGS = (
    "-nostartfiles",
    "-fcallgraph-info=su",
    "-Wl,--entry=0",
    "-Wl,--no-gc-sections",
    "-Wl,--unresolved-symbols=ignore-all",
    "-Wl,--no-warn-rwx-segments",
)
"""A program with what the code calls of the C library, and nothing else."""

_LINKER_SCRIPT = """\
SECTIONS {
  .text 0x10000 : { *(.text .text.*) }
  .rodata : { *(.rodata .rodata.* .srodata .srodata.*) }
  .data : { *(.data .data.* .sdata .sdata.*) }
  .bss (NOLOAD) : { *(.bss .bss.* .sbss .sbss.* .noinit.* COMMON) }
}
"""
"""Those of C libraries have a stack and more. Code and tables are apart, for else the bytes between
them, which align constant pools, would be code."""


@dataclass(frozen=True)
class CrossCompiler:
    """A compiler for another machine, and its options.

    Parameters
    ----------
    program
        such as "arm-none-eabi-gcc".
    flags
        that choose the CPU and the C library.
    """

    program: str
    flags: tuple[str, ...]


@dataclass(frozen=True)
class CompiledCode:
    """The compiled code of one module.

    Parameters
    ----------
    compiler
        the command, without files; where an object file has the operators, LLVM and its options.
    size_bytes
        code and constants outside of constant pools: what it takes of the flash beside them.
    variables_size_bytes
        what it takes of the RAM beside workspace pools and the stack.
    functions
        bytes of each operator's function, with the functions that are parts of it; those that were
        inlined into another are missing.
    has_library
        whether functions of the C library that it calls are in the sizes.
    stack_size_bytes
        the most that its functions use, without those of the C library; None if it is not known.
    not_linked
        why the object files of the operators could not be linked; then the sizes are the sums of
        their sections. None if they were, or there are none.
    """

    compiler: str
    size_bytes: int
    variables_size_bytes: int
    functions: Mapping[str, int] = field(repr=False)
    has_library: bool
    stack_size_bytes: int | None = None
    not_linked: str | None = None

    @property
    def is_of_llvm(self) -> bool:
        """Whether LLVM made the operators."""
        return self.compiler.startswith(_LLVM)


def compiled_code(
    files: Mapping[str, bytes], metadata: Mapping[str, Any], cross: CrossCompiler | None = None
) -> CompiledCode:
    """Compile the code of a module and measure it; nothing of it runs.

    Parameters
    ----------
    files
        header, sources and object files of the module, path -> content; others are ignored.
    metadata
        of the module.
    cross
        the compiler; this host's (`$CC`, or `cc`) by default.

    Raises
    ------
    BuildError
        the compiler is missing, reports an error, does not end, or writes no ELF file.
    """
    own = {name: content for name, content in files.items() if name.startswith("codegen/")}
    objects = [content for name, content in own.items() if name.endswith(".o")]
    command = os.environ.get("CC", "").split() or ["cc"]
    flags: Sequence[str] = _HOST_FLAGS
    if cross is not None:
        command, flags = [cross.program, *_with_float_abi(cross.flags, objects)], _BARE_METAL_FLAGS
    compiler = " ".join([*command, OPTIMIZATION]) if not objects else _llvm(metadata)
    not_linked = _why_not_linked(command, objects)
    if not_linked is not None:
        if not objects:
            raise BuildError(not_linked)
        measured = _measured(objects, metadata, compiler, False)
        return replace(measured, not_linked=not_linked)
    command.append(OPTIMIZATION)
    is_packed = metadata.get("interface_api") == "packed"
    with temporary_folder() as folder:
        code = [path for path in write_files(own, folder) if path.suffix in (".c", ".o")]
        include = [
            f"-I{folder / 'codegen/host/include'}",
            *(tvm_ffi_include() if is_packed else []),
        ]
        options = ["-std=c11" if is_packed else "-std=c99", "-w", *include, *flags]
        library = []
        if cross is not None:
            (folder / "code.ld").write_text(_LINKER_SCRIPT)
            library = ["-T", str(folder / "code.ld"), "-lm"]
        output = folder / "model.elf"
        _run([*command, *options, *map(str, code), *library, "-o", str(output)], folder)
        measured = _measured([output.read_bytes()], metadata, compiler, cross is not None)
        graphs = [path.read_text(errors="replace") for path in folder.glob("*.ci")]
    # Object files of an archive have no graphs.
    is_whole = bool(graphs) and all(path.suffix == ".c" for path in code)
    return replace(measured, stack_size_bytes=most_stack_bytes(graphs) if is_whole else None)


def _with_float_abi(flags: Sequence[str], objects: Sequence[bytes]) -> list[str]:
    """The flags, with which C can be linked with these: LLVM's default is no FPU's registers."""
    if not objects or any(map(has_float_registers, objects)):
        return list(flags)
    return ["-mfloat-abi=softfp" if flag == "-mfloat-abi=hard" else flag for flag in flags]


def _llvm(metadata: Mapping[str, Any]) -> str:
    """LLVM, with the options of the target that it made code for."""
    targets = metadata.get("target")
    for target in map(str, targets if isinstance(targets, list) else []):
        if target.split()[:1] == ["llvm"]:
            return " ".join([_LLVM, *target.split()[1:]])
    return _LLVM


def _why_not_linked(command: Sequence[str], objects: Sequence[bytes]) -> str | None:
    """Why a compiler cannot link these with C; None if it can."""
    if shutil.which(command[0]) is None:
        return f"{command[0]} is not installed"
    if not objects:
        return None
    with temporary_folder() as folder:
        source, output = folder / "empty.c", folder / "empty.o"
        source.write_text("")
        try:
            _run([*command, "-c", str(source), "-o", str(output)], folder)
        except BuildError as error:
            return str(error)
        machine = machine_of(output.read_bytes())
    for content in objects:
        found = machine_of(content)
        if found != machine:
            return (
                f"the archive has machine code for {found or 'an unknown machine'}, and "
                f"{command[0]} links that for {machine or 'another one'}"
            )
    return None


def _run(command: Sequence[str], folder: Path) -> None:
    program = command[0]
    try:
        done = run_program(command, temporary=folder, timeout_seconds=LONGEST_SECONDS)
    except OSError as error:
        raise BuildError(f"{program} cannot be started ({error.strerror})") from error
    except subprocess.TimeoutExpired:
        raise BuildError(f"{program} did not end within {LONGEST_SECONDS:g} seconds") from None
    if done.returncode != 0:
        # That the linker failed, the line before it says better.
        lines = [line for line in done.stderr.splitlines() if not line.startswith("collect2:")]
        errors = [line for line in lines if "error" in line] or lines or ["no message"]
        # Where the temporary folder is, and how the compiler names its files there, says nothing.
        text = re.sub(rf"{re.escape(f'{folder}{os.sep}')}cc\w{{6}}\.o\b", "the C", errors[0])
        text = text.replace(f"{folder}{os.sep}", "")
        raise BuildError(f"{program} reports an error: {shown(text)}")


def _measured(
    contents: Sequence[bytes], metadata: Mapping[str, Any], compiler: str, has_library: bool
) -> CompiledCode:
    """The sizes of all of these files together."""
    try:
        elves = [ELFFile(BytesIO(content)) for content in contents]
        sections = [
            (section["sh_type"], section["sh_flags"], section["sh_size"])
            for elf in elves
            for section in elf.iter_sections()
            if section["sh_flags"] & SH_FLAGS.SHF_ALLOC
            and not section.name.startswith(_NOT_IN_FLASH)
        ]
        symbols = [symbol for elf in elves for symbol in _symbols(elf)]
    except ELFError as error:
        raise BuildError(f"{compiler.split()[0]} wrote no ELF file ({error})") from None
    pools = {
        f"{metadata['c_prefix']}_{pool['c_name']}": pool["kind"] == "constant"
        for pool in metadata["memory"]["pools"]
    }
    in_pools = {True: 0, False: 0}
    for name, size, _ in symbols:
        if name in pools:
            in_pools[pools[name]] += size
    stored = sum(size for kind, _, size in sections if kind != "SHT_NOBITS")
    writable = sum(size for _, flags, size in sections if flags & SH_FLAGS.SHF_WRITE)
    return CompiledCode(
        compiler,
        max(stored - in_pools[True], 0),
        max(writable - in_pools[False], 0),
        _by_function(symbols, metadata),
        has_library,
    )


def _symbols(elf: ELFFile) -> Iterator[tuple[str, int, bool]]:
    """Name, bytes, and whether it is a function, of what is defined."""
    table = elf.get_section_by_name(".symtab")
    for symbol in table.iter_symbols() if isinstance(table, SymbolTableSection) else ():
        if symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_size"]:
            yield symbol.name, symbol["st_size"], symbol["st_info"]["type"] == "STT_FUNC"


def _by_function(
    symbols: Sequence[tuple[str, int, bool]], metadata: Mapping[str, Any]
) -> dict[str, int]:
    """Bytes by the function of an operator; a part of one has its name and a suffix. A function
    without a symbol was inlined, and its bytes are not known."""
    names = {
        str(function["function_name"])
        for function in metadata["memory"]["functions"].get("operator_functions", ())
        if isinstance(function, dict) and "function_name" in function
    }
    sizes: dict[str, int] = {}
    for symbol, size, is_function in symbols:
        name = re.sub(r"\..*", "", symbol.removeprefix(f"{metadata['c_prefix']}_"))
        while is_function and name and name not in names:
            name = name.rpartition("_")[0]
        if name in names and is_function:
            sizes[name] = sizes.get(name, 0) + size
    return dict(sorted(sizes.items()))
