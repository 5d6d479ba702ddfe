"""The archive's C in a program with a `main` of an application, built and run on this host."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import usmp
from usmp.codegen.interface.module_interface import Interface
from usmp.runtime.c_compiler import BuildError, compile_c
from usmp.runtime.write_files import write_files

SANITIZERS = ["-O0", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
"""Optimized, a model takes twice the time, most of it in the compiler."""


@cache
def sanitizing_compiler() -> str:
    """`clang`, which takes half the time of `gcc` with sanitizers, where it has their libraries."""
    with TemporaryDirectory() as folder, mock.patch.dict(os.environ, CC="clang"):
        source = Path(folder) / "nothing.c"
        source.write_text("int main(void) { return 0; }\n")
        try:
            compile_c([*SANITIZERS, str(source)], source.with_suffix(""))
        except BuildError:
            return "gcc"
    return "clang"


MAIN_C = """
#include <stdio.h>
#include "tvmgen_default.h"
{declarations}
int main(void) {{
  struct tvmgen_default_inputs inputs = {inputs};
  struct tvmgen_default_outputs outputs = {outputs};
  for (;;) {{
{reads}
    if (tvmgen_default_run({arguments}) != 0) return 1;
{writes}
  }}
}}
"""
"""Reads the inputs of a run and writes its outputs, until there is no more."""


def main_c(interface: Interface) -> str:
    """An application that runs the model on what it reads."""
    planned = interface.only_entry.has_workspace_io
    tensors = [*interface.inputs, *interface.outputs]
    names = [[t.c_name for t in each] for each in (interface.inputs, interface.outputs)]
    sizes = {t.c_name: f"TVMGEN_DEFAULT_{t.c_name.upper()}_SIZE" for t in tensors}
    arrays = [
        f"static uint8_t {name}_bytes[{size}] __attribute__((aligned(16)));"
        for name, size in sizes.items()
    ]
    places = [f"inputs.{n}" if planned else f"{n}_bytes" for n in names[0]]
    inputs, outputs = (f"{{{', '.join(f'{n}_bytes' for n in each)}}}" for each in names)
    return MAIN_C.format(
        declarations="" if planned else "\n".join(arrays),
        inputs="tvmgen_default_map_inputs()" if planned else inputs,
        outputs="tvmgen_default_map_outputs()" if planned else outputs,
        reads="\n".join(
            f"    if (fread({place}, 1, {sizes[n]}, stdin) != {sizes[n]}) return 0;"
            for n, place in zip(names[0], places, strict=True)
        ),
        arguments="" if planned else "&inputs, &outputs",
        writes="\n".join(f"    fwrite(outputs.{n}, 1, {sizes[n]}, stdout);" for n in names[1]),
    )


def run_as_program(
    factory: usmp.AOTExecutorFactoryModule, directory: Path, flags: Sequence[str], data: bytes
) -> bytes:
    """Build the archive's C with a `main` of an application, and run it on `data`: the inputs of
    one run after the other. Returns the outputs in the same way."""
    program = build_program(factory.files(), main_c(factory.interface), directory, flags)
    return subprocess.run([program], input=data, stdout=subprocess.PIPE, check=True).stdout


def build_program(
    files: Mapping[str, bytes], main: str, directory: Path, flags: Sequence[str]
) -> Path:
    """Write an archive's files and `main` to `directory`, and build them in strict C99.

    Where `CC` names no compiler, it is the host's, or for sanitizers alone the faster one.
    """
    write_files(files, directory)
    (directory / "main.c").write_text(main)
    program = directory / "program"
    sources, given = (sorted(directory.rglob(ending)) for ending in ("*.c", "*.o"))
    include = directory / "codegen/host/include"
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    chosen = {}
    if "CC" not in os.environ and list(flags) == SANITIZERS:
        chosen["CC"] = sanitizing_compiler()
    options = [*strict, *flags, f"-I{include}"]
    with mock.patch.dict(os.environ, chosen), TemporaryDirectory() as folder:
        # One by one: other programs have the same model, which is compiled once for all of them.
        objects = [Path(folder) / f"{number}.o" for number in range(len(sources))]
        for source, compiled in zip(sources, objects, strict=True):
            compile_c([*options, "-c", str(source)], compiled)
        compile_c([*options, *map(str, [*objects, *given]), "-lm"], program)
    return program
