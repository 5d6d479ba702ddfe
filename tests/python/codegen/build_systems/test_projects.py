"""Archives of several models, of models that allocate, and of object files, in projects."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import usmp
from support.cmake_projects import build
from support.compilers import run_compiler
from support.dynamic_programs import Net, built
from support.tflite_file import one_operator_model
from support.zephyr import ZEPHYR

pytestmark = pytest.mark.cc

CMAKE = """
cmake_minimum_required(VERSION 3.10)
project(firmware LANGUAGES C)
{folders}
add_executable(app src/main.c)
target_link_libraries(app PRIVATE tvmgen_first tvmgen_second)
"""
WITH_ZEPHYR = """
cmake_minimum_required(VERSION 3.20)
set(ZEPHYR_EXTRA_MODULES {folders})
find_package(Zephyr REQUIRED HINTS ${{CMAKE_CURRENT_SOURCE_DIR}}/zephyr)
project(firmware)
target_sources(app PRIVATE src/main.c)
"""
MAIN = """
#include "tvmgen_first.h"
#include "tvmgen_second.h"

static uint8_t memory[4096];
static int8_t x[TVMGEN_FIRST_X_SIZE], y[TVMGEN_FIRST_Y_SIZE], z[TVMGEN_SECOND_Y_SIZE];

int main(void) {
  struct usmp_arena arena;
  int32_t count = 5;
  struct tvmgen_first_inputs first = {x, &count};
  struct tvmgen_first_outputs between = {y};
  struct tvmgen_second_inputs second = {y, &count};
  struct tvmgen_second_outputs last = {z};
  if (usmp_arena_init(&arena, memory, sizeof(memory)) != 0) return 1;
  if (tvmgen_first_run(&first, &between, &arena) != 0) return 2;
  if (tvmgen_second_run(&second, &last, &arena) != 0) return 3;
  return z[0] == 8 && z[4] == 8 && z[5] == 0 ? 0 : 4;
}
"""


@pytest.fixture(scope="module")
def models() -> list[usmp.AOTExecutorFactoryModule]:
    """Two models that allocate while they run."""
    return [built(Net, "first"), built(Net, "second")]


@pytest.fixture(params=["archives", "merged"])
def folders(request, models, tmp_path) -> list[str]:
    """Where the models were unpacked: side by side, or from one archive."""
    groups = {"archives": [[models[0]], [models[1]]], "merged": [models]}[request.param]
    for number, group in enumerate(groups):
        path = usmp.export_model_library_format(group, tmp_path / f"{number}.tar")
        usmp.load_archive(path).extract(tmp_path / f"model{number}")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/main.c").write_text(MAIN)
    return [str(tmp_path / f"model{number}") for number in range(len(groups))]


def run(project: Path, text: str) -> None:
    (project / "CMakeLists.txt").write_text(text)
    build(project, project / "build")
    subprocess.run([project / "build/app"], check=True)


@pytest.mark.slow
def test_cmake(folders, tmp_path):
    added = "\n".join(f"add_subdirectory({folder})" for folder in folders)
    run(tmp_path, CMAKE.format(folders=added))


@pytest.mark.slow
def test_zephyr(folders, tmp_path):
    """It links libraries as a whole: one that is there twice would define functions twice."""
    (tmp_path / "zephyr").mkdir()
    (tmp_path / "zephyr/ZephyrConfig.cmake").write_text(ZEPHYR)
    run(tmp_path, WITH_ZEPHYR.format(folders=" ".join(folders)))


def test_arduino(folders, tmp_path):
    """A library of each folder's `src`, all of which one sketch links."""
    include = [f"-I{folder}/src" for folder in folders]
    for number, folder in enumerate(folders):
        place = tmp_path / f"objects{number}"
        place.mkdir()
        assert "dot_a_linkage=true\n" in Path(folder, "library.properties").read_text()
        sources = sorted(Path(folder, "src").glob("*.c"))
        command = ["gcc", "-std=gnu11", "-DARDUINO=10819", *include, "-c", *sources]
        run_compiler(command, cwd=place)
        objects = sorted(place.glob("*.o"))
        subprocess.run(["ar", "rcs", f"{place}.a", *objects], check=True)
    libraries = sorted(tmp_path.glob("*.a"))
    command = ["gcc", *include, "src/main.c", *libraries, "-lm", "-o", "sketch"]
    run_compiler(command, cwd=tmp_path)
    subprocess.run([tmp_path / "sketch"], check=True)


ONE = """
cmake_minimum_required(VERSION 3.10)
project(firmware LANGUAGES C)
add_subdirectory(model)
add_executable(app main.c)
target_link_libraries(app PRIVATE tvmgen_relu)
"""
ONE_MAIN = """
#include "tvmgen_relu.h"

static float x[4] = {-1, 2, -3, 4}, y[4];

int main(void) {
  struct tvmgen_relu_inputs inputs = {x};
  struct tvmgen_relu_outputs outputs = {y};
  if (tvmgen_relu_run(&inputs, &outputs) != 0) return 1;
  return y[0] == 0 && y[1] == 2 && y[2] == 0 && y[3] == 4 ? 0 : 2;
}
"""


@pytest.mark.slow
def test_an_object_file(tmp_path):
    """Of target llvm the library has the operators that LLVM compiled."""
    (tmp_path / "relu.tflite").write_bytes(one_operator_model())
    factory = usmp.build(usmp.import_model(tmp_path / "relu.tflite"), "llvm", module_name="relu")
    factory.export_model_library_format(tmp_path / "relu.tar")
    usmp.load_archive(tmp_path / "relu.tar").extract(tmp_path / "model")
    (tmp_path / "main.c").write_text(ONE_MAIN)
    run(tmp_path, ONE)
