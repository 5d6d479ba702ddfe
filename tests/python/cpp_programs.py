"""C++ programs that use the solver without TVM: built with the installed library, and run."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import usmp
from compilers import require

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "tests/fuzz"
FLAGS = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"]


def solver_library() -> Path:
    return Path(usmp.get_include()).parent / "lib/libusmp_solver.a"


def run_with_solver(source: str, folder: Path, include: Path = ROOT / "src") -> str:
    """What the program prints; ``include`` has the headers, by default those of the sources."""
    return _run(source, folder, [f"-I{include}"])


def run_with_reference(source: str, folder: Path) -> str:
    """The same for a program that asks the reference of tests/fuzz for random problems and for
    what is true of them (``one_pool.h``)."""
    includes = [f"-I{path}" for path in (ROOT / "src", REFERENCE)]
    return _run(source, folder, [*includes, REFERENCE / "one_pool.cc", REFERENCE / "reference.cc"])


def _run(source: str, folder: Path, arguments: Sequence[str | Path]) -> str:
    require("g++")
    (folder / "main.cc").write_text(source)
    program = folder / "main"
    subprocess.run(
        [
            "g++",
            *FLAGS,
            "-o",
            program,
            folder / "main.cc",
            *arguments,
            solver_library(),
        ],
        check=True,
    )
    return subprocess.check_output([program], text=True, timeout=300)
