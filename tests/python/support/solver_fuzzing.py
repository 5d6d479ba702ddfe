"""The solver under libFuzzer with sanitizers: builds the harness of tests/fuzz and runs it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.compilers import run_compiler
from support.solver_projects import INSTALLED

ROOT = Path(__file__).resolve().parents[3]
SOLVER = ROOT / "src/usmp_solver"
HARNESS = ROOT / "tests/fuzz"
SANITIZERS = ("-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all")
COMPILE = ("clang++", "-std=c++17", "-gline-tables-only")
_HARNESS = {
    "reference": [SOLVER / "tests/reference.cc"],
    "harness": sorted(HARNESS.glob("*.cc")),
}
# Longer inputs say no more: the largest problem takes fewer bytes.
LONGEST_INPUT = 2048
LONGEST_SECONDS = 60


@dataclass(frozen=True)
class Outcome:
    """What became of a run.

    Parameters
    ----------
    executions
        problems that were tried.
    failure
        what the harness or a sanitizer said; empty if nothing was wrong.
    """

    executions: int
    failure: str


def can_build(folder: Path) -> bool:
    """Whether clang++ has libFuzzer and the sanitizers."""
    source = folder / "nothing.cc"
    source.write_text(
        "#include <cstddef>\n#include <cstdint>\n"
        'extern "C" int LLVMFuzzerTestOneInput(const uint8_t*, size_t) { return 0; }\n'
    )
    command = [*COMPILE, *SANITIZERS, source, "-o", folder / "nothing"]
    return run_compiler(command, check=False).returncode == 0


def build(folder: Path, level: str = "-O1") -> Path:
    """Compile solver and harness into `folder`, at a level of optimization; the program's path."""
    of_tests = SOLVER / "tests"
    solver = [path for path in sorted(SOLVER.rglob("*.cc")) if path.parent != of_tests]
    return _linked(folder, (*SANITIZERS, level), {**_HARNESS, "solver": solver})


def build_with_library(folder: Path) -> Path:
    """Compile the harness alone, without sanitizers, and link it with the installed library.

    That takes a tenth of the time. Inputs are random, since the library tells nothing of coverage.
    """
    library = INSTALLED / "lib/libusmp_solver.a"
    return _linked(folder, ("-fsanitize=fuzzer", "-O0"), _HARNESS, library)


def _linked(
    folder: Path, flags: Sequence[str], parts: Mapping[str, Iterable[Path]], *libraries: Path
) -> Path:
    """Compile the sources of each part as one, which takes a third of the time."""
    command = [*COMPILE, *flags, f"-I{SOLVER.parent}", f"-I{HARNESS}"]
    for name, sources in parts.items():
        joined = folder / f"{name}.cc"
        joined.write_text("".join(f'#include "{source}"\n' for source in sources))
        command.append(str(joined))
    program = folder / "fuzz_solver"
    run_compiler([*command, *libraries, "-o", program])
    return program


def fuzz(program: Path, *, seconds: int, seed: int, corpus: Path, runs: int = -1) -> Outcome:
    """Try problems for so many seconds, or so many problems; stops at the first failure.

    Inputs that reach new code are kept in `corpus`, beside the input that failed.
    """
    corpus.mkdir(parents=True, exist_ok=True)
    command = [
        program,
        f"-max_total_time={seconds}",
        f"-runs={runs}",
        f"-seed={seed}",
        f"-max_len={LONGEST_INPUT}",
        "-len_control=0",
        f"-timeout={LONGEST_SECONDS}",
        f"-artifact_prefix={corpus}/",
        "-print_final_stats=1",
        # Symbols of what is new take longer than the problems.
        "-print_funcs=0",
        "-verbosity=0",
        corpus,
    ]
    result = subprocess.run(command, capture_output=True, text=True, errors="replace")
    executions = re.search(r"number_of_executed_units:\s*(\d+)", result.stderr)
    return Outcome(
        int(executions[1]) if executions else 0, result.stderr if result.returncode else ""
    )
