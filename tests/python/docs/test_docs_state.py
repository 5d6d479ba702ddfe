"""What docs/state.md shows works as it stands there."""

from __future__ import annotations

import re
import shlex
import subprocess
import tarfile
from pathlib import Path

import pytest

from conftest import ROOT
from support.c_program import SANITIZERS
from support.compilers import require, run_compiler
from support.python_here import run_python
from support.quantized_models.variables import VECTOR, delay
from usmp.driver.tvmc import main
from usmp.objects import StateLayout

PAGE = (ROOT / "docs/state.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def commands() -> list[list[str]]:
    """The indented commands."""
    text = re.sub(r"^```.*?^```", "", PAGE, flags=re.DOTALL | re.MULTILINE)
    lines = "".join(re.findall(r"(?:^    .*\n)+", text, re.MULTILINE)).replace("\\\n", " ")
    return [shlex.split(line) for line in lines.splitlines()]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty folder with the models of the page, which differ in their weights."""
    monkeypatch.chdir(tmp_path)
    Path("kws.tflite").write_bytes(delay(VECTOR, "random"))
    Path("kws_new.tflite").write_bytes(delay(VECTOR, "random"))
    return tmp_path


def compiled(folder: Path, command: list[str]) -> None:
    assert command[0] == "tvmc"
    assert main(command[1:]) == 0
    with tarfile.open(command[-1]) as archive:
        archive.extractall(folder, filter="data")


@pytest.mark.slow
@pytest.mark.cc
def test_the_commands(folder):
    shown = commands()
    assert len(shown) == 4
    hashes = []
    for command in shown:
        compiled(folder, command)
        header = Path("codegen/host/include/tvmgen_kws.h").read_text()
        hashes.append(re.search(r"STATE_LAYOUT_HASH UINT64_C\((0x\w+)\)", header)[1])
    assert set(hashes) == {StateLayout.read("kws_state.json").hash_text}


@pytest.mark.slow
@pytest.mark.cc
def test_the_python(folder):
    """On two models that are alike."""
    (program,) = blocks("python")
    (folder / "models.py").write_text(
        "from pathlib import Path\nimport usmp\n"
        "from support.state_models import streaming_model\n"
        "mod, newer_mod = streaming_model(), streaming_model()\n"
    )
    run_python(f"from models import *\n{program}", folder)


MAIN_C = """
#include <stdio.h>
#include <string.h>
#include "start.c"
int main(void) {
  int8_t x[6] = {1, 2, 3, 4, 5, 6}, y[6], first[6];
  struct tvmgen_kws_inputs inputs;
  struct tvmgen_kws_outputs outputs;
  memcpy(&inputs, &(void*){x}, sizeof(void*));
  memcpy(&outputs, &(void*){y}, sizeof(void*));
  memset(backup, 0x55, sizeof(backup));
  layout_of_backup = 0x5555;
  start_model();
  if (run_model(&inputs, &outputs) != 0) return 1;
  memcpy(first, y, sizeof(y));
  start_model();
  if (run_model(&inputs, &outputs) != 0) return 2;
  if (memcmp(x, y, sizeof(y)) != 0) return 3;
  layout_of_backup = 0;
  start_model();
  if (run_model(&inputs, &outputs) != 0) return 4;
  return memcmp(first, y, sizeof(y)) == 0 ? 0 : 5;
}
"""
"""The output of a run is the input of the one before: after a start that keeps the state too."""


def noinit_archive(folder: Path) -> None:
    (command,) = (c for c in commands() if any("section=.noinit.backup" in part for part in c))
    compiled(folder, command)
    (folder / "start.c").write_text(blocks("c")[0])


@pytest.mark.slow
@pytest.mark.cc
def test_the_check_at_start_up(folder):
    noinit_archive(folder)
    Path("main.c").write_text(MAIN_C)
    warnings = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
    sources = ["main.c", "codegen/host/src/kws_lib0.c"]
    includes = ["-Icodegen/host/include", "-I."]
    run_compiler(["gcc", *warnings, *SANITIZERS, *includes, *sources, "-lm", "-o", "main"])
    subprocess.run(["./main"], check=True)


SCRIPT_REST = """
SECTIONS
{
  .text : { *(.text*) *(.rodata*) } > FLASH
  .bss : { *(.bss*) *(COMMON) } > RAM
}
"""


@pytest.mark.board
def test_the_linker_script(folder):
    """Hash and state are where the script says, and take no bytes of the image."""
    require("arm-none-eabi-gcc")
    noinit_archive(folder)
    (script,) = re.findall(r"^```\n(MEMORY\n.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    Path("link.ld").write_text(f"ENTRY(run_model)\n{script}{SCRIPT_REST}")
    options = ["-mcpu=cortex-m4", "-mthumb", "-std=c99", "-O1", "-Wall", "-Werror", "-nostartfiles"]
    sources = ["start.c", "codegen/host/src/kws_lib0.c"]
    linked = ["-Icodegen/host/include", "-Wl,-T,link.ld,--build-id=none", "-o", "model.elf"]
    run_compiler(["arm-none-eabi-gcc", *options, *sources, *linked])
    command = ["arm-none-eabi-readelf", "-SW", "model.elf"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (section,) = re.findall(r"\.noinit +(\w+) +(\w+)", shown)
    assert section == ("NOBITS", "40024000")
    command = ["arm-none-eabi-nm", "model.elf"]
    symbols = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    places = {line.split()[-1]: int(line.split()[0], 16) for line in symbols.splitlines()}
    assert places["layout_of_backup"] == 0x40024000
    assert places["backup"] == 0x40024010
