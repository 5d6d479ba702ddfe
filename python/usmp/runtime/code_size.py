"""Measure the size of the compiled code of a model, for all commands.

The size is the flash beside constant pools: functions of the model, tables, initial values of
variables, and for microcontrollers the called functions of the C library. Start-up code and the
application are not counted. If object files of LLVM cannot be linked, the size is estimated as the
sum of their sections.
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
from usmp.support.process.temporary_folder import temporary_folder
from usmp.support.text.plain_text import shown

LONGEST_SECONDS = 300.0
"""Time limit of a compiler, because an archive may have C that takes forever to compile."""

OPTIMIZATION = "-O2"
_LLVM = "LLVM"
_NOT_IN_FLASH = (".eh_frame", ".note", ".comment", ".interp", ".gnu")
"""Prefixes of sections that hosts add, but that programs for microcontrollers lack."""

_HOST_FLAGS = ("-r", "-nostdlib")
"""Flags to link one object file for a host, without a C library."""

_BARE_METAL_FLAGS = (
    "-nostartfiles",
    "-fcallgraph-info=su",
    "-Wl,--entry=0",
    "-Wl,--no-gc-sections",
    "-Wl,--unresolved-symbols=ignore-all",
    "-Wl,--no-warn-rwx-segments",
)
"""Flags to link the code with the C library that it calls, and nothing else."""

_LINKER_SCRIPT = """\
SECTIONS {
  .text 0x10000 : { *(.text .text.*) }
  .rodata : { *(.rodata .rodata.* .srodata .srodata.*) }
  .data : { *(.data .data.* .sdata .sdata.*) }
  .bss (NOLOAD) : { *(.bss .bss.* .sbss .sbss.* .noinit.* COMMON) }
}
"""
"""A script without the stack of a C library's own script. Code and tables are separate sections, so
that padding before aligned constant pools does not count as code."""


@dataclass(frozen=True)
class CrossCompiler:
    """A compiler for another machine, and its options.

    Parameters
    ----------
    program
        name of the program, such as "arm-none-eabi-gcc".
    flags
        options that select the CPU and the C library.
    """

    program: str
    flags: tuple[str, ...]


@dataclass(frozen=True)
class CompiledCode:
    """The compiled code of one module.

    Parameters
    ----------
    compiler
        the command without files, or LLVM and its options if it compiled the operators.
    size_bytes
        flash for code, and for constants outside of constant pools.
    variables_size_bytes
        RAM outside of workspace pools and of the stack.
    functions
        bytes of the function of each operator, with its helper functions; inlined functions are
        missing.
    has_library
        whether the sizes include the called functions of the C library.
    stack_size_bytes
        most stack of its functions, without those of the C library; None if unknown.
    not_linked
        reason why object files could not be linked, so that sizes are sums of their sections; None
        if they were linked, or if there are none.
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
        """Whether LLVM compiled the operators."""
        return self.compiler.startswith(_LLVM)


def compiled_code(
    files: Mapping[str, bytes], metadata: Mapping[str, Any], cross: CrossCompiler | None = None
) -> CompiledCode:
    """Compile the code of a module and measure it, without running it.

    Parameters
    ----------
    files
        header, sources and object files of the module by path; other files are ignored.
    metadata
        metadata of the module.
    cross
        the compiler; by default that of this host (`$CC`, or `cc`).

    Raises
    ------
    BuildError
        the compiler is missing, reports an error, exceeds its time limit, or writes no ELF file.
    """
    module_files = {name: content for name, content in files.items() if name.startswith("codegen/")}
    objects = [content for name, content in module_files.items() if name.endswith(".o")]
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
        code = [path for path in write_files(module_files, folder) if path.suffix in (".c", ".o")]
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
    # The stack is unknown with object files, because these have no call graphs.
    is_whole = bool(graphs) and all(path.suffix == ".c" for path in code)
    return replace(measured, stack_size_bytes=most_stack_bytes(graphs) if is_whole else None)


def _with_float_abi(flags: Sequence[str], objects: Sequence[bytes]) -> list[str]:
    """Return flags with the float ABI of object files. LLVM's default is without FPU registers."""
    if not objects or any(map(has_float_registers, objects)):
        return list(flags)
    return ["-mfloat-abi=softfp" if flag == "-mfloat-abi=hard" else flag for flag in flags]


def _llvm(metadata: Mapping[str, Any]) -> str:
    """Return "LLVM" with the options of its target."""
    targets = metadata.get("target")
    for target in map(str, targets if isinstance(targets, list) else []):
        if target.split()[:1] == ["llvm"]:
            return " ".join([_LLVM, *target.split()[1:]])
    return _LLVM


def _why_not_linked(command: Sequence[str], objects: Sequence[bytes]) -> str | None:
    """Return the reason why a compiler cannot link object files with C, or None if it can."""
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
        object_machine = machine_of(content)
        if object_machine != machine:
            return (
                f"the archive has machine code for {object_machine or 'an unknown machine'}, and "
                f"{command[0]} links that for {machine or 'another one'}"
            )
    return None


def _run(command: Sequence[str], folder: Path) -> None:
    program = command[0]
    try:
        process = run_program(command, temporary=folder, timeout_seconds=LONGEST_SECONDS)
    except OSError as error:
        raise BuildError(f"{program} cannot be started ({error.strerror})") from error
    except subprocess.TimeoutExpired:
        raise BuildError(f"{program} did not end within {LONGEST_SECONDS:g} seconds") from None
    if process.returncode != 0:
        # Skip the last line of the linker, because the line before it has the reason.
        lines = [line for line in process.stderr.splitlines() if not line.startswith("collect2:")]
        errors = [line for line in lines if "error" in line] or lines or ["no message"]
        # Remove names of temporary folders and files, which mean nothing to the user.
        text = re.sub(rf"{re.escape(f'{folder}{os.sep}')}cc\w{{6}}\.o\b", "the C", errors[0])
        text = text.replace(f"{folder}{os.sep}", "")
        raise BuildError(f"{program} reports an error: {shown(text)}")


def _measured(
    contents: Sequence[bytes], metadata: Mapping[str, Any], compiler: str, has_library: bool
) -> CompiledCode:
    """Return the total sizes of ELF files, less the memory pools in them."""
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
    """Yield name and bytes of each defined symbol, and whether it is a function."""
    table = elf.get_section_by_name(".symtab")
    for symbol in table.iter_symbols() if isinstance(table, SymbolTableSection) else ():
        if symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_size"]:
            yield symbol.name, symbol["st_size"], symbol["st_info"]["type"] == "STT_FUNC"


def _by_function(
    symbols: Sequence[tuple[str, int, bool]], metadata: Mapping[str, Any]
) -> dict[str, int]:
    """Return the bytes of operator functions by name, with their helper functions, whose names have
    a suffix. Inlined functions have no symbol, and are missing."""
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
