"""`python -m usmp_solver`: plan the buffers of a file."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from usmp_solver.does_not_fit import DoesNotFit
from usmp_solver.explanation import explain
from usmp_solver.formats.buffers_file import BuffersFile, parse_buffers
from usmp_solver.formats.csv_writer import write_csv
from usmp_solver.formats.pytorch import PytorchProblem
from usmp_solver.solution import Solution
from usmp_solver.solver import ALGORITHMS, solve

_STDIN = "-"
_FAILED = 1
_INTERRUPTED = 130
_SHOWN = 10
"""Most buffers that a message names."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(_FAILED, _printable(f"{self.prog}: {message}") + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Plan the buffers of a file.

    Parameters
    ----------
    arguments
        arguments of the command line; None for those of the process.

    Returns
    -------
    int
        0, or 1 after an error with one message on stderr.
    """
    parser = _parser()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    options = parser.parse_args(arguments)
    try:
        _run(options)
    except OSError as error:
        file = f"{error.filename}: " if error.filename else ""
        parser.error(f"{file}{error.strerror or error}")
    except (ValueError, ImportError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted", file=sys.stderr)
        return _INTERRUPTED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m usmp_solver",
        description="Find offsets for buffers, so that those that are live at one time share no "
        "bytes and the peak is low; print the peak and what is proved of it.",
    )
    parser.add_argument(
        "file",
        help="a CSV with the columns id,lower,upper,size, a problem of OmniMalloc, or a memory "
        "snapshot or profile of PyTorch; - is stdin",
    )
    parser.add_argument(
        "--capacity",
        action="append",
        default=[],
        metavar="[POOL=]BYTES",
        help="bytes that may be used, as 1000 or 0x400; once for each pool, the most wanted first "
        "(default: the smallest peak)",
    )
    parser.add_argument(
        "--algorithm",
        default="auto",
        choices=ALGORITHMS,
        help="auto stops after a fixed amount of work, exact when the best plan is proved",
    )
    parser.add_argument(
        "--time-budget",
        type=float,
        metavar="SECONDS",
        help="how long auto or exact may search",
    )
    parser.add_argument(
        "-o", "--output", metavar="CSV", help="write the plan: the buffers and their offsets"
    )
    return parser


def _run(options: argparse.Namespace) -> None:
    capacity = _capacity(options.capacity)
    if options.file == _STDIN:
        file, data = "<stdin>", sys.stdin.buffer.read()
    else:
        file, data = options.file, Path(options.file).read_bytes()
        output = Path(options.output or "")
        if options.output and output.exists() and output.samefile(file):
            raise ValueError(f"{output}: the plan would replace the buffers")
    source = parse_buffers(file, data, capacity)
    solution = solve(source.problem, algorithm=options.algorithm, time_budget=options.time_budget)
    if not solution.has_plan:
        raise ValueError(f"{file}: {_misfit(source, explain(solution))}")
    if options.output:
        _write(Path(options.output), write_csv(source, solution))
    print(_printable("\n".join(_figures(source, solution))))


def _capacity(arguments: Sequence[str]) -> int | dict[str, int] | None:
    named: dict[str, int] = {}
    for text in arguments:
        pool, _, digits = text.rpartition("=")
        try:
            named[pool] = int(digits, 0)
        except ValueError:
            raise ValueError(
                f"--capacity={text}: write it as BYTES or POOL=BYTES, such as 1000 or sram=0x400"
            ) from None
    if len(named) < len(arguments) or ("" in named and len(named) > 1):
        raise ValueError("--capacity: give one number, or one for each pool by its name")
    return named.get("", named or None)


def _figures(source: BuffersFile, solution: Solution) -> list[str]:
    lines = [
        f"{pool.name}: peak {solution.peaks[pool.name]} bytes, lower bound "
        f"{solution.lower_bounds[pool.name]} bytes"
        for pool in solution.problem.pools
    ]
    if isinstance(source, PytorchProblem):
        lines += [f"{device.summary()}." for device in source.devices]
    proved = "is optimal: proved" if solution.is_optimal else "is not proved to be optimal"
    lines.append(f"{len(solution.problem)} buffers are placed; the plan {proved}.")
    return lines


def _misfit(source: BuffersFile, why: DoesNotFit) -> str:
    proved = "the buffers do not fit" if why.is_proved else "no plan was found"
    words = [f"{proved} into the capacity"]
    if why.alone or why.together:
        enough = why.alone[:1] or why.together
        sizes = " and ".join(f"{limit.pool}={limit.bytes}" for limit in enough)
        is_needed = len(enough) == 1 and enough[0].is_smallest
        words.append(f"--capacity {sizes} {'is needed' if is_needed else 'would be enough'}")
    if why.proved:
        named = [
            f"{buffer.name} ({source.where(buffer.number)}, {buffer.size} bytes)"
            for buffer in why.proved[:_SHOWN]
        ]
        more = f" and {len(why.proved) - _SHOWN} more" if len(why.proved) > _SHOWN else ""
        words.append(f"there is no space for {', '.join(named)}{more}")
    return "; ".join(words)


def _printable(text: str) -> str:
    """Return the text without control characters for a terminal, because names come from a file."""
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)


def _write(path: Path, text: str) -> None:
    """Write the whole text or nothing, except to a device or a pipe, which cannot be replaced."""
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    path = path.resolve()
    temporary = path.with_name(f".usmp_solver.{os.urandom(8).hex()}")
    try:
        # Apply the permissions of the umask, unlike tempfile.
        file = temporary.open("x", encoding="utf-8", newline="")
    except OSError as error:
        # The error names the temporary file, which the user does not know.
        raise type(error)(error.errno, error.strerror, str(path)) from None
    try:
        with file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


if __name__ == "__main__":
    sys.exit(main())
