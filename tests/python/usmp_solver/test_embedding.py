"""The solver in a C++ program that knows neither TVM nor Python."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import usmp
from conftest import ROOT
from support.cmake_projects import build, quick_compiler
from support.solver_projects import INSTALLED

pytestmark = [pytest.mark.cc, pytest.mark.slow]

PROGRAM = ROOT / "src/usmp_solver/tests/embedding.cc"
# c is live with a, then with b: these two share a place. d fits nowhere beside them.
PRINTED = "a sram 16\nb sram 16\nc sram 0\npeak 32, at least 32\na c d do not fit together\n"
# Compiling takes most of the time; the plans are the same whatever the optimization.
QUICK = (
    *("CMAKE_BUILD_TYPE=None", "CMAKE_CXX_FLAGS=-O0"),
    # In one piece: headers are read once.
    *("CMAKE_UNITY_BUILD=ON", "CMAKE_UNITY_BUILD_BATCH_SIZE=0"),
)


def printed_by(folder: Path, found_by: str, *definitions: str) -> str:
    """What the program prints that is built in `folder`, where the solver is found by this."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\n"
        "project(embedding LANGUAGES CXX)\n"
        f"{found_by}\n"
        f'add_executable(embedding "{PROGRAM}")\n'
        "target_link_libraries(embedding usmp_solver::usmp_solver)\n"
    )
    build(folder, folder / "build", *QUICK, *quick_compiler(), *definitions)
    return subprocess.check_output([folder / "build/embedding"], text=True)


def test_the_installed_library(tmp_path):
    version = usmp.__version__.rpartition(".")[0]
    find = f"find_package(usmp_solver {version} CONFIG REQUIRED)"
    assert printed_by(tmp_path, find, f"CMAKE_PREFIX_PATH={INSTALLED}") == PRINTED


def test_a_project_of_its_own():
    """All sources are compiled, without this package; what has not changed since, only once."""
    add = f'add_subdirectory("{ROOT}/src/usmp_solver" solver)'
    assert printed_by(ROOT / "build/embedding", add) == PRINTED
