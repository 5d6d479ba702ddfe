"""CMake projects, built for this host or by a toolchain file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from support.compilers import require


def tool(name: str) -> str:
    """The path of a program of CMake, of this environment or else of the system."""
    require("g++")
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    return found or missing(f"{name} is not installed (pip install cmake)")


def quick_compiler() -> list[str]:
    """The definition of the C++ compiler that takes half the time of g++, if it is there."""
    return ["CMAKE_CXX_COMPILER=clang++"] if shutil.which("clang++") else []


def missing(reason: str) -> NoReturn:
    """Skip the test, or let it fail in continuous integration, where it must run."""
    if "USMP_SOLVER_TESTS_REQUIRED" in os.environ:
        pytest.fail(reason)
    pytest.skip(reason)


def build(source: Path, folder: Path, *definitions: str) -> None:
    """Build the project in `source` with these definitions, such as ``NAME=VALUE``."""
    cmake = tool("cmake")
    options = [f"-D{definition}" for definition in definitions]
    subprocess.run([cmake, "-S", source, "-B", folder, *options], check=True)
    processors = str(len(os.sched_getaffinity(0)))
    subprocess.run([cmake, "--build", folder, "--parallel", processors], check=True)
