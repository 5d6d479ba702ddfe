"""The archive's C in a program with a `main` of an application, built and run on this host."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import usmp
from usmp.runtime.c_compiler import compile_c
from usmp.runtime.write_files import write_files

SANITIZERS = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

MAIN_C = """
#include <stdio.h>
#include "tvmgen_default.h"
static uint8_t input[TVMGEN_DEFAULT_{INPUT}_SIZE] __attribute__((aligned(16)));
static uint8_t output[TVMGEN_DEFAULT_{OUTPUT}_SIZE] __attribute__((aligned(16)));
int main(void) {{
  struct tvmgen_default_inputs inputs = {{input}};
  struct tvmgen_default_outputs outputs = {{output}};
  while (fread(input, 1, sizeof(input), stdin) == sizeof(input)) {{
    if (tvmgen_default_run(&inputs, &outputs) != 0) return 1;
    fwrite(output, 1, sizeof(output), stdout);
  }}
  return 0;
}}
"""
WORKSPACE_IO_MAIN_C = """
#include <stdio.h>
#include "tvmgen_default.h"
int main(void) {{
  struct tvmgen_default_inputs inputs = tvmgen_default_map_inputs();
  struct tvmgen_default_outputs outputs = tvmgen_default_map_outputs();
  while (fread(inputs.{input}, TVMGEN_DEFAULT_{INPUT}_SIZE, 1, stdin) == 1) {{
    if (tvmgen_default_run() != 0) return 1;
    fwrite(outputs.{output}, TVMGEN_DEFAULT_{OUTPUT}_SIZE, 1, stdout);
  }}
  return 0;
}}
"""


def run_as_program(
    factory: usmp.AOTExecutorFactoryModule, directory: Path, flags: Sequence[str], data: bytes
) -> bytes:
    """Build the archive's C with a `main` of an application, and run it on `data`."""
    interface = factory.interface
    names = {"input": interface.inputs[0].c_name, "output": interface.outputs[0].c_name}
    text = WORKSPACE_IO_MAIN_C if interface.has_workspace_io else MAIN_C
    main = text.format(**names, **{key.upper(): name.upper() for key, name in names.items()})
    program = build_program(factory.files(), main, directory, flags)
    return subprocess.run([program], input=data, stdout=subprocess.PIPE, check=True).stdout


def build_program(
    files: Mapping[str, bytes], main: str, directory: Path, flags: Sequence[str]
) -> Path:
    """Write an archive's files and `main` to `directory`, and build them in strict C99."""
    write_files(files, directory)
    (directory / "main.c").write_text(main)
    program = directory / "program"
    sources = [str(p) for p in sorted([*directory.rglob("*.c"), *directory.rglob("*.o")])]
    include = directory / "codegen/host/include"
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    compile_c([*strict, *flags, f"-I{include}", *sources, "-lm"], program)
    return program
