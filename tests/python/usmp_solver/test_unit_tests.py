"""The unit tests of the solver, in C++, with the library that is installed here."""

from __future__ import annotations

import os
import subprocess

import pytest

from conftest import ROOT
from support import levels
from support.cmake_projects import build, missing, quick_compiler, tool
from support.compilers import run_compiler
from support.solver_projects import INSTALLED

pytestmark = pytest.mark.cc

TESTS = ROOT / "src/usmp_solver/tests"


def require_doctest(folder) -> None:
    source = folder / "nothing.cc"
    source.write_text("#include <doctest/doctest.h>\n")
    command = ["g++", "-std=c++17", "-fsyntax-only", source]
    if run_compiler(command, check=False).returncode != 0:
        missing("doctest is not installed (apt-get install doctest-dev)")


@pytest.mark.slow
def test_all_pass(tmp_path):
    ctest = tool("ctest")
    require_doctest(tmp_path)
    build(
        TESTS,
        tmp_path / "build",
        f"CMAKE_PREFIX_PATH={INSTALLED}",
        "CMAKE_COMPILE_WARNING_AS_ERROR=ON",
        # Compiling takes longer than the tests: the solver itself is optimized.
        "CMAKE_CXX_FLAGS=-O0",
        # What reads the same headers takes a third of the time as one source.
        "CMAKE_UNITY_BUILD=ON",
        "CMAKE_UNITY_BUILD_BATCH_SIZE=0",
        *quick_compiler(),
    )
    processors = str(len(os.sched_getaffinity(0)))
    subprocess.run(
        [ctest, "--output-on-failure", "--no-tests=error", "--parallel", processors],
        cwd=tmp_path / "build",
        env={**os.environ, "USMP_SOLVER_TESTS_PERCENT": str(levels.number(8, 100))},
        check=True,
    )
