"""Estimates of llvm-mca: cycles for a multiply-accumulate in the inner loops of compiled C.

Cycles differ from instructions, because a processor may wait for a result or run two instructions
at once. The estimate ignores memory, branches and IT, which takes at most part of a cycle.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from usmp.boards.board import Board
from usmp.runtime.write_files import write_files

_RELEASES = range(40, 13, -1)
_FIRST_RELEASE = {"cortex-m4": 14, "cortex-m7": 14, "cortex-m55": 16}
"""The first LLVM release with a model of the pipeline; earlier ones silently use another core's."""
_ITERATIONS = 100

_CONDITIONS = "eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
_LABEL = re.compile(r"\s*([.\w$]+):\s*(.*)")
_BRANCH = re.compile(
    rf"\s+(?:b(?:{_CONDITIONS})?(?:\.[nw])?\s|le\s+lr\s*,|cbn?z\s+\w+\s*,)\s*([.\w$]+)\s*(?:@.*)?"
)
_MACS = (
    (r"smlald?x?|smladx?|smuadx?", 2),
    (r"mla|smla[bt][bt]", 1),
    (r"v(?:fma|mla)\.f32 s", 1),
    (r"v(?:fma|mla)\.f32 q", 4),
    *((rf"vml(?:a|al|ad|ald)a?va?x?\.[su]{bits}", 128 // bits) for bits in (8, 16, 32)),
    *((rf"vmlas?\.[siu]{bits}", 128 // bits) for bits in (8, 16, 32)),
    *((rf"vmull[bt]\.[su]{bits}", 64 // bits) for bits in (8, 16, 32)),
)
"""Pattern of instructions, and the number of multiply-accumulates of each."""


def why_not(core: str) -> str | None:
    """Return the reason why there is no estimate for a core, or None if there is one."""
    if core not in _FIRST_RELEASE:
        return f"llvm-mca has no model of the pipeline of {core or 'this RISC-V'}"
    program = _program()
    if program is None:
        return "llvm-mca is not installed"
    printed = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    release = int((re.findall(r"LLVM version (\d+)", printed.stdout) or ["0"])[0])
    if release < _FIRST_RELEASE[core]:
        return (
            f"llvm-mca of LLVM {release} has no model of the pipeline of {core}; that of LLVM "
            f"{_FIRST_RELEASE[core]} has"
        )
    return None


def cycles_per_mac(
    files: Mapping[str, bytes], board: Board, functions: Sequence[str]
) -> dict[str, float]:
    """Return the cycles for a multiply-accumulate in the hottest inner loop of C functions.

    The hottest loop has the most multiply-accumulates. Loops in callees count for the caller, too.

    Parameters
    ----------
    files
        the files of an archive for the board.
    functions
        names of C functions; functions without such a loop are left out of the result.
    """
    bodies = functions_of(_assembly(files, board))
    cycles_by_function = {}
    for name in functions:
        lines = bodies.get(name, [])
        own = [lines, *(bodies[called] for called in calls_of(lines) if called in bodies)]
        loops = [(macs_of(loop), loop) for lines in own for loop in inner_loops(lines)]
        macs, body = max(loops, default=(0, []), key=lambda loop: loop[0])
        cycles = _cycles(body, board) if macs else None
        if cycles is not None:
            cycles_by_function[name] = cycles / macs
    return cycles_by_function


def functions_of(assembly: str) -> dict[str, list[str]]:
    """Return the lines of each function; a line is a label or an instruction."""
    functions: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in _single(assembly.splitlines()):
        # Drop suffixes, which GCC adds to a function that it specializes for its only caller.
        name = re.fullmatch(r"([A-Za-z_]\w*)[\w.]*:", line)
        if name:
            lines = functions.setdefault(name[1], [])
        lines.append(line)
    return functions


def inner_loops(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the instructions of innermost loops, without branches and IT."""
    places: dict[str, int] = {}
    begin_of_last = -1
    for number, line in enumerate(lines):
        if line.endswith(":"):
            places[line[:-1]] = number
            continue
        branch = _BRANCH.fullmatch(line)
        # In inline assembly, "1b" refers to the preceding label "1".
        start = places.get(re.sub(r"^(\d+)b$", r"\1", branch[1]), -1) if branch else -1
        if start > begin_of_last:
            yield [text.strip() for text in lines[start:number] if _is_counted(text)]
        begin_of_last = max(begin_of_last, start)


def calls_of(lines: Iterable[str]) -> list[str]:
    """Return the names of the functions that lines call, without duplicates."""
    calls = [re.match(r"\s+bl?(?:\.w)?\s+([A-Za-z_]\w*)", line) for line in lines]
    return list(dict.fromkeys(call[1] for call in calls if call))


def macs_of(instructions: Iterable[str]) -> int:
    """Return the number of multiply-accumulates of instructions."""
    texts = [" ".join(text.split()) for text in instructions]
    return sum(
        macs for text in texts for pattern, macs in _MACS if re.match(rf"(?:{pattern})[ .\d]", text)
    )


def _single(lines: Iterable[str]) -> Iterator[str]:
    """Yield each label and instruction separately; inline assembly may have several in a line."""
    for line in lines:
        for part in line.split(";"):
            label = _LABEL.fullmatch(part)
            if label:
                yield f"{label[1]}:"
            rest = label[2] if label else part.strip()
            if rest and rest[0] not in ".@#":
                yield f"\t{rest}"


def _is_counted(line: str) -> bool:
    is_it = re.match(r"\s+it[te]{0,3}\s", line)
    return not line.endswith(":") and not is_it and not _BRANCH.fullmatch(line)


def _assembly(files: Mapping[str, bytes], board: Board) -> str:
    """Return the assembly of the model's C, compiled with the options of the board's project."""
    with TemporaryDirectory() as directory:
        code = {name: text for name, text in files.items() if name.startswith("codegen/")}
        sources = [path for path in write_files(code, Path(directory)) if path.suffix == ".c"]
        command = [board.toolchain.compiler, *board.cpu_flags, *board.toolchain.options]
        command += [
            "-std=c99",
            "-O2",
            "-fno-ipa-icf",
            "-S",
            "-o",
            "-",
            f"-I{directory}/codegen/host/include",
        ]
        return "\n".join(
            subprocess.run([*command, str(path)], capture_output=True, text=True, check=True).stdout
            for path in sources
        )


def _cycles(body: Sequence[str], board: Board) -> float | None:
    """Return the mean cycles of an iteration; None if llvm-mca does not know an instruction."""
    program = _program()
    assert program is not None
    triple = next(o for o in board.llvm_options.split() if o.startswith("-mtriple="))
    command = [program, triple, f"-mcpu={board.core}", f"-iterations={_ITERATIONS}"]
    text = "\n".join([".syntax unified", ".thumb", *body, ""])
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    total = re.search(r"Total Cycles:\s+(\d+)", done.stdout)
    return int(total[1]) / _ITERATIONS if total and done.returncode == 0 else None


def _program() -> str | None:
    """Return the path of the newest llvm-mca, or None."""
    names = [*(f"llvm-mca-{release}" for release in _RELEASES), "llvm-mca"]
    return next(filter(None, map(shutil.which, names)), None)
