"""C++ programs that use the solver without TVM: built with the installed library, and run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import usmp
from compilers import require

ROOT = Path(__file__).parents[2]
FLAGS = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"]


def solver_library() -> Path:
    return Path(usmp.get_include()).parent / "lib/libusmp_solver.a"


def run_with_solver(source: str, folder: Path, include: Path = ROOT / "src") -> str:
    """What the program prints; ``include`` has the headers, by default those of the sources."""
    require("g++")
    (folder / "main.cc").write_text(source)
    program = folder / "main"
    subprocess.run(
        [
            "g++",
            *FLAGS,
            f"-I{include}",
            "-o",
            program,
            folder / "main.cc",
            solver_library(),
        ],
        check=True,
    )
    return subprocess.check_output([program], text=True, timeout=300)
