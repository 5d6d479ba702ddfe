"""docs/integrate.md: every project and program of the page is built as its build system does it.

Vendors' tools are not needed: what they call in an archive is defined here, with what they document
of it. All programs run on real images of digits.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT
from support.cmake_projects import build, tool
from support.compilers import require, run_compiler
from support.micro import Micro
from support.small_digits import small_digits
from support.zephyr import ZEPHYR
from usmp.driver.tvmc import main

PAGE = (ROOT / "docs/integrate.md").read_text()
(PROGRAM,) = re.findall(
    r"^## Run a model\n.*?```c\n(.*?)```",
    (ROOT / "docs/c-interface.md").read_text(),
    re.DOTALL | re.MULTILINE,
)
"""The program in C that the page links to."""
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def section(title: str) -> str:
    return re.split(r"^## ", PAGE.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0]


def block(title: str, language: str, index: int = 0) -> str:
    """One of the blocks of code of a section."""
    found: str = re.findall(rf"```{language}\n(.*?)```", section(title), re.DOTALL)[index]
    return found


def commands(text: str) -> list[str]:
    """The indented commands, one line each."""
    lines = "".join(re.findall(r"^    .*\n", re.sub(r"```.*?```", "", text, flags=re.S), re.M))
    return [line.strip() for line in lines.replace("\\\n", " ").splitlines()]


def write_model(folder: Path) -> None:
    """Write a model that compiles sooner in the place of that of the example."""
    (folder / "examples/digits").mkdir(parents=True)
    (folder / "examples/digits/digits_int8.tflite").write_bytes(small_digits())


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory) -> Path:
    """The archive, compiled and unpacked by the commands of the page."""
    folder = tmp_path_factory.mktemp("page")
    write_model(folder)
    compile_model, *others = commands(PAGE.split("\n## ")[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(shlex.split(compile_model)[1:]) == 0
    for command in others:
        subprocess.run(shlex.split(command), cwd=folder, check=True)
    return folder / "digits"


@pytest.fixture
def project(unpacked, tmp_path) -> Path:
    """A folder with the model beside the program of the page."""
    shutil.copytree(unpacked, tmp_path / "digits")
    (tmp_path / "main.c").write_text(PROGRAM)
    (tmp_path / "main.cc").write_text(block("The call", "cpp"))
    return tmp_path


def check(program: Path, count: int = 3) -> None:
    """A program that reads one image tells its class."""
    reference = Micro(small_digits())
    with np.load(ROOT / "examples/digits/test_images.npz") as data:
        images = data["images"][:count, None]
    scores = [reference.run({"image": image})["probabilities"] for image in images]
    expected = [int(np.argmax(score)) for score in scores]
    assert len(set(expected)) > 1
    for image, label in zip(images, expected, strict=True):
        done = subprocess.run([program], input=image.tobytes(), capture_output=True, check=True)
        assert done.stdout == f"{label}\n".encode()


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.cc
def test_each_file_of_the_table_is_in_the_archive(unpacked):
    rows = re.findall(r"^\| \[.*\| (.*) \| .*$", PAGE.split("\n## ")[0], re.MULTILINE)
    named = [name for row in rows for name in re.findall("`([^`]*)`", row)]
    assert len(named) == 8
    for name in named:
        assert (unpacked / name).is_dir() == name.endswith("/")
        assert (unpacked / name).exists()


@pytest.mark.slow
@pytest.mark.cc
def test_cmake(project):
    (project / "CMakeLists.txt").write_text(block("CMake", "cmake"))
    build(project, project / "build")
    check(project / "build/firmware")


@pytest.mark.slow
@pytest.mark.cc
def test_cmake_in_cpp(project):
    text = block("CMake", "cmake").replace("LANGUAGES C", "LANGUAGES CXX").replace(".c)", ".cc)")
    flags = f"-std=c++11 {' '.join(STRICT)}"
    (project / "CMakeLists.txt").write_text(text)
    build(project, project / "build", f"CMAKE_CXX_FLAGS={flags}")
    check(project / "build/firmware")


@pytest.mark.slow
@pytest.mark.cc
def test_cmake_of_the_library_alone(project):
    build(project / "digits", project / "build", "CMAKE_C_FLAGS=-Werror -Wall -Wextra -Wpedantic")
    assert (project / "build/libtvmgen_digits.a").is_file()


@pytest.mark.slow
@pytest.mark.board
def test_cmake_for_a_cortex_m(project):
    require("arm-none-eabi-gcc")
    (project / "CMakeLists.txt").write_text(block("CMake", "cmake"))
    (project / "cortex-m4.cmake").write_text(block("CMake", "cmake", 1))
    command = re.search(r"`cmake (-S \. -B build .*?)`", section("CMake"))
    options = [option[2:] for option in shlex.split(command[1]) if option.startswith("-D")]
    assert options[0] == "CMAKE_TOOLCHAIN_FILE=cortex-m4.cmake"
    options[0] = f"CMAKE_TOOLCHAIN_FILE={project}/cortex-m4.cmake"
    build(project, project / "build", *options)
    read = ["arm-none-eabi-readelf", "-h", "-A", "-s", project / "build/firmware"]
    text = subprocess.run(read, capture_output=True, text=True, check=True).stdout
    assert re.search(r"Machine: +ARM\n", text)
    assert "Tag_ABI_VFP_args: VFP registers" in text
    assert re.search(r"FUNC +GLOBAL +DEFAULT +\d+ tvmgen_digits_run\n", text)


@pytest.mark.slow
@pytest.mark.board
def test_a_section_of_the_linker_script(project, monkeypatch):
    """The pool lies in the memory of the section, and takes no bytes of the image."""
    require("arm-none-eabi-gcc")
    monkeypatch.chdir(project)
    write_model(project)
    (command,) = commands(section("Where memory lies"))
    assert main(shlex.split(command)[1:]) == 0
    subprocess.run(["tar", "-xf", "dtcm.tar"], check=True)
    (project / "board.ld").write_text(
        "MEMORY { FLASH : ORIGIN = 0, LENGTH = 1M\n RAM : ORIGIN = 0x30000000, LENGTH = 64K\n"
        f" DTCMRAM : ORIGIN = 0x20000000, LENGTH = 64K }}\nSECTIONS {{\n"
        f"  .text : {{ *(.text*) *(.rodata*) }} > FLASH\n{block('Where memory lies', 'ld')}"
        "  .bss (NOLOAD) : { *(.bss*) } > RAM\n}\n"
    )
    compiler = ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-Icodegen/host/include"]
    sources = ["codegen/host/src/digits_lib0.c", "-nostartfiles", "-lc", "-lm", "-lgcc"]
    linked = ["-Wl,--gc-sections,-e,tvmgen_digits_run,--no-warn-rwx-segments", "-Tboard.ld"]
    run_compiler([*compiler, *linked, *sources, "-o", "model.elf"])
    nm = subprocess.run(["nm", "model.elf"], capture_output=True, text=True, check=True).stdout
    assert re.search(r"^20000000 b tvmgen_digits_dtcm$", nm, re.MULTILINE)
    sections = ["arm-none-eabi-readelf", "-SW", "model.elf"]
    text = subprocess.run(sections, capture_output=True, text=True, check=True).stdout
    assert re.search(r" \.dtcm +NOBITS ", text)


@pytest.mark.slow
@pytest.mark.cc
def test_zephyr(project, monkeypatch):
    write(project / "zephyr/ZephyrConfig.cmake", ZEPHYR)
    monkeypatch.setenv("ZEPHYR_BASE", str(project / "zephyr"))
    write(project / "src/main.c", PROGRAM)
    (project / "CMakeLists.txt").write_text(block("Zephyr", "cmake"))
    build(project, project / "build")
    check(project / "build/app")


@pytest.mark.slow
@pytest.mark.cc
def test_zephyr_without_the_model(project, monkeypatch):
    write(project / "zephyr/ZephyrConfig.cmake", ZEPHYR)
    monkeypatch.setenv("ZEPHYR_BASE", str(project / "zephyr"))
    write(project / "src/main.c", "int main(void) { return 0; }\n")
    (project / "CMakeLists.txt").write_text(block("Zephyr", "cmake"))
    option = re.search(r"`(CONFIG_TVMGEN_DIGITS=n)`", section("Zephyr"))
    build(project, project / "build", option[1])
    assert not list((project / "build").rglob("*tvmgen*.a"))


ESP_IDF = """
cmake_minimum_required(VERSION 3.16)
project(firmware LANGUAGES C)
set(ESP_PLATFORM 1)
function(idf_component_register)
  cmake_parse_arguments(PARSE_ARGV 0 given "" "" "SRCS;INCLUDE_DIRS;REQUIRES")
  if(given_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "unknown: ${given_UNPARSED_ARGUMENTS}")
  endif()
  get_filename_component(name ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  add_library(${name} STATIC ${given_SRCS})
  target_include_directories(${name} PUBLIC ${given_INCLUDE_DIRS})
  target_link_libraries(${name} PUBLIC ${given_REQUIRES} m)
endfunction()
add_subdirectory(components/digits)
add_subdirectory(main)
add_executable(firmware empty.c)
target_link_libraries(firmware PRIVATE main)
"""
"""What ESP-IDF does with components: each registers itself."""

ESP_IDF_REQUIREMENTS = """
set(ESP_PLATFORM 1)
macro(idf_component_register)
  message(STATUS "registered")
  return()
endmacro()
include(components/digits/CMakeLists.txt)
"""
"""How ESP-IDF finds out what components need, in CMake's script mode."""


@pytest.mark.slow
@pytest.mark.cc
def test_esp_idf(project):
    (project / "components").mkdir()
    (project / "digits").rename(project / "components/digits")
    write(project / "main/CMakeLists.txt", block("ESP-IDF", "cmake"))
    write(project / "main/main.c", PROGRAM)
    (project / "empty.c").write_text("")
    (project / "CMakeLists.txt").write_text(ESP_IDF)
    build(project, project / "build")
    check(project / "build/firmware")
    (project / "requirements.cmake").write_text(ESP_IDF_REQUIREMENTS)
    script = [tool("cmake"), "-P", "requirements.cmake"]
    done = subprocess.run(script, cwd=project, check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("-- registered\n", "")


ARDUINO = """
#include <cstddef>
#include <cstdio>
struct Port {
  void begin(unsigned long) {}
  size_t readBytes(char* buffer, size_t length) { return fread(buffer, 1, length, stdin); }
  void println(int value) { printf("%d\\n", value); }
};
static Port Serial;
"""


@pytest.mark.cc
def test_arduino(project):
    """Arduino compiles all of `src`, and looks for headers nowhere else."""
    library = project / "digits"
    properties = dict(
        line.split("=", 1) for line in (library / "library.properties").read_text().splitlines()
    )
    assert properties["includes"] == "tvmgen_digits.h"
    (project / "Arduino.h").write_text(ARDUINO)
    sketch = block("Arduino", "ino") + "int main() { setup(); while (!feof(stdin)) loop(); }\n"
    (project / "sketch.cpp").write_text(sketch)
    include = ["-DARDUINO=10819", f"-I{library}/src", *STRICT]
    sources = sorted((library / "src").rglob("*.c"))
    run_compiler(["gcc", "-std=gnu11", *include, "-c", *sources], cwd=project)
    objects = [f"{source.stem}.o" for source in sources]
    subprocess.run(["ar", "rcs", "library.a", *objects], cwd=project, check=True)
    compile_sketch = ["g++", "-std=gnu++11", *include, "-include", "Arduino.h", "sketch.cpp"]
    run_compiler([*compile_sketch, "library.a", "-lm", "-o", "sketch"], cwd=project)
    check(project / "sketch")


@pytest.mark.cc
def test_platformio(project):
    library = project / "digits"
    paths = json.loads((library / "library.json").read_text())["build"]
    sources = sorted((library / paths["srcDir"]).rglob("*.c"))
    include = f"-I{library / paths['includeDir']}"
    command = ["gcc", *STRICT, include, "main.c", *sources, "-lm", "-o", "firmware"]
    run_compiler(command, cwd=project)
    check(project / "firmware")


@pytest.mark.slow
@pytest.mark.cc
def test_any_other(project):
    (command,) = commands(section("Any other"))
    subprocess.run(command, cwd=project, shell=True, check=True)
    check(project / "firmware")


@pytest.mark.cc
def test_all_files_of_the_folder(project):
    """As an IDE compiles a folder of sources that it is given."""
    sources = sorted((project / "digits").rglob("*.c"))
    include = "-Idigits/codegen/host/include"
    command = ["gcc", *STRICT, include, "main.c", *sources, "-lm", "-o", "firmware"]
    run_compiler(command, cwd=project)
    check(project / "firmware")


@pytest.mark.cc
def test_the_folders_of_ides_are_there(unpacked):
    named = set(re.findall(r"(?:/|`)digits/(codegen/[\w/]+)", PAGE))
    assert named == {"codegen/host/src", "codegen/host/include"}
    assert all((unpacked / name).is_dir() for name in named)
