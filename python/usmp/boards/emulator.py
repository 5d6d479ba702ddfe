"""Build the project of an archive for its board, and run it in the emulator."""

from __future__ import annotations

import shutil
import subprocess
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from usmp.boards.board import PROJECT_FOLDER, Board
from usmp.boards.board_run import BoardRuns, Section
from usmp.boards.elf_sections import read_sections
from usmp.boards.linker_errors import linker_error
from usmp.plain.entry_names import ONLY_ENTRY, chosen_entry
from usmp.runtime.c_compiler import BuildError
from usmp.runtime.extra_sources import check_sources, include_sources
from usmp.runtime.host import HostEntry
from usmp.runtime.inputs import checked_run
from usmp.runtime.programs import run_program
from usmp.runtime.sizes import at_sizes
from usmp.runtime.write_files import write_files
from usmp.support.temporary_folder import temporary_folder

DEFAULT_TIMEOUT_SECONDS = 120.0

Tensors: TypeAlias = "Mapping[str, np.ndarray]"
Sizes: TypeAlias = "Mapping[str, int]"
Run: TypeAlias = "Tensors | tuple[str, Tensors] | tuple[str, Tensors, Sizes]"
"""The inputs of the only entry, or the name of an entry, its inputs, and symbolic sizes that do not
follow from their shapes."""


class EmulatorError(RuntimeError):
    """The program did not end well in the emulator, or the emulator is missing."""


class EmulatedModule:
    """A model as a program for a board.

    Each call of `run` starts the board anew, so that state begins as before the first run. Threads
    that share an `EmulatedModule` run it in turn.

    Parameters
    ----------
    files
        the files of an archive that was built for the board, path -> content.
    metadata
        the parsed metadata of its module.
    board
        the board.
    variables
        of the Makefile, for instance {"STACK_SIZE": "4096", "OPTIMIZATION": "-Os"}.
    sources
        C files of the user with the functions of accelerators.

    Raises
    ------
    BuildError
        make or the compiler is missing, or reports an error; a function of an accelerator
        that no source defines.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        metadata: Mapping[str, Any],
        board: Board,
        variables: Mapping[str, str] | None = None,
        sources: Sequence[str | Path] = (),
    ) -> None:
        check_sources(metadata, sources)
        if not any(name.startswith(f"{PROJECT_FOLDER}/") for name in files):
            raise BuildError(
                f"the archive has no {PROJECT_FOLDER}/; compile the model with --board "
                f"{board.name} again"
            )
        self.name = str(metadata["model_name"])
        self.entries = {
            str(main.get("entry", ONLY_ENTRY)): HostEntry.of(main)
            for main in metadata["memory"]["functions"]["main"]
        }
        self.board = board
        made = ExitStack()
        directory = made.enter_context(temporary_folder())
        self._cleanup = weakref.finalize(self, made.close)
        self._project = directory / PROJECT_FOLDER
        folders = ("codegen/", f"{PROJECT_FOLDER}/")
        needed = {name: text for name, text in files.items() if name.startswith(folders)}
        write_files(needed, directory)
        include_sources(sources, self._project)
        build_project(self._project, board, variables or {})
        self._lock = Lock()  # Runs share the files of the folder.

    @property
    def inputs(self) -> dict[str, dict[str, Any]]:
        """The inputs of the only entry; `ValueError` if there are several."""
        return self.entries[chosen_entry(self.name, list(self.entries))].inputs

    @property
    def outputs(self) -> dict[str, dict[str, Any]]:
        """The outputs of the only entry; `ValueError` if there are several."""
        return self.entries[chosen_entry(self.name, list(self.entries))].outputs

    def run(
        self, runs: Sequence[Run], timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    ) -> BoardRuns:
        """Start the board and run the model several times, one run after the other.

        Parameters
        ----------
        runs
            the inputs of each run, or the name of an entry and its inputs; the name can be left out
            if there is one entry. Symbolic sizes that do not follow from the inputs come last.
        timeout_seconds
            after which the program is ended.

        Raises
        ------
        ValueError
            an input is missing, unknown, or of another shape or element type; a size is out of
            its range or not known; there is no entry of a name, or several and no name.
        EmulatorError
            the emulator is missing, the program fails, takes too long, or does not
            write what the runs give.
        """
        named = [self._named(run) for run in runs]
        order, content = [], []
        for entry, given, given_sizes in named:
            described = self.entries[entry]
            arrays, sizes = checked_run(described.inputs, described.sizes, given, given_sizes)
            order.append((entry, sizes))
            content.append(np.array(list(sizes.values()), "<i4").tobytes())
            content += [array.tobytes() for array in arrays.values()]
        with self._lock:
            (self._project / "inputs.bin").write_bytes(b"".join(content))
            if len(self.entries) > 1:
                (self._project / "runs.txt").write_text("".join(f"{entry}\n" for entry, _ in order))
            run_emulator(self.board, self._project, "model.elf", timeout_seconds)
            try:
                return self._runs(order)
            except (OSError, ValueError, KeyError):
                raise EmulatorError(
                    "the program ended without a whole outputs.bin and report.txt; a main.c other "
                    "than that of tvmc compile has to write them as that does"
                ) from None

    def _named(self, run: Run) -> tuple[str, Tensors, Sizes]:
        """The name of an entry, its inputs, and sizes that are given."""
        entry, inputs, *sizes = run if isinstance(run, tuple) else (None, run)
        return chosen_entry(self.name, list(self.entries), entry), inputs, dict(*sizes)

    def _runs(self, order: Sequence[tuple[str, Sizes]]) -> BoardRuns:
        """What the program wrote about runs of these entries, at these sizes.

        Raises
        ------
        OSError, ValueError, KeyError
            it did not write all.
        """
        numbers = _numbers((self._project / "report.txt").read_text())
        if len(numbers["instructions"]) != len(order):
            raise ValueError("report.txt is of other runs")
        return BoardRuns(
            self._split_outputs((self._project / "outputs.bin").read_bytes(), order),
            numbers["instructions"],
            numbers["stack_used"][0],
            numbers["stack_size"][0],
            [entry for entry, _ in order] if len(self.entries) > 1 else (),
            _by_run(numbers.get("operator", []), len(order)),
        )

    def sections(self) -> list[Section]:
        """The sections of the program that take memory of the board."""
        return read_sections((self._project / "model.elf").read_bytes(), self.board)

    def _split_outputs(
        self, content: bytes, order: Sequence[tuple[str, Sizes]]
    ) -> list[dict[str, np.ndarray]]:
        """The arrays of each run, which lie one after the other."""
        runs = []
        start = 0
        for entry, sizes in order:
            outputs = {}
            for name, info in at_sizes(self.entries[entry].results, sizes).items():
                outputs[name] = np.frombuffer(
                    content, info["dtype"], int(np.prod(info["shape"])), start
                ).reshape(info["shape"])
                start += outputs[name].nbytes
            runs.append(outputs)
        if start != len(content):
            raise ValueError("outputs.bin is of other runs")
        return runs


def build_project(project: Path, board: Board, variables: Mapping[str, str]) -> None:
    """Run `make` in the folder of a project.

    Raises
    ------
    BuildError
        make or the compiler is missing, or reports an error.
    """
    require_program("make", "make", BuildError)
    require_program(board.toolchain.compiler, board.toolchain.packages, BuildError)
    settings = [f"{name}={value}" for name, value in variables.items()]
    command = ["make", "--silent", *settings]
    done = run_program(command, project, temporary=project)
    if done.returncode != 0:
        raise BuildError(linker_error(done.stderr, board) or _build_failure(board, done.stderr))


def _build_failure(board: Board, stderr: str) -> str:
    return (
        f"the project for board {board.name} cannot be built with {board.toolchain.compiler}:\n"
        f"{stderr.strip()}"
    )


def run_emulator(board: Board, directory: Path, elf: str, timeout_seconds: float) -> str:
    """Run a program in the board's emulator, in a folder; returns what it printed.

    Raises
    ------
    EmulatorError
        the emulator is missing, or the program fails or takes too long.
    """
    emulator = board.emulator
    require_program(emulator.program, emulator.package, EmulatorError)
    try:
        done = run_program(emulator.command(elf), directory, timeout_seconds=timeout_seconds)
    except subprocess.TimeoutExpired:
        raise EmulatorError(
            f"the program did not end within {timeout_seconds:g} seconds in {emulator.program}; "
            "give it more with --timeout"
        ) from None
    printed = done.stdout + done.stderr
    if done.returncode != 0:
        text = printed.strip() or "it printed nothing"
        raise EmulatorError(
            f"the program failed in {emulator.program} with exit status {done.returncode}: {text}"
        )
    return printed


def require_program(program: str, packages: str, error: type[RuntimeError]) -> None:
    """Raise `error`, which says how to install it, if a program is not there."""
    if shutil.which(program) is None:
        raise error(f"{program} is not installed; apt-get install {packages}")


def _by_run(numbers: list[int], runs: int) -> list[list[int]]:
    """Numbers of several runs, as many of each; nothing if there are none."""
    each = len(numbers) // max(runs, 1)
    if each * runs != len(numbers):
        raise ValueError("report.txt is of other runs")
    return [numbers[run * each : (run + 1) * each] for run in range(runs)] if numbers else []


def _numbers(report: str) -> dict[str, list[int]]:
    """The lines "name number" of a report; a name may come once for each run."""
    numbers: dict[str, list[int]] = {"instructions": []}
    for line in report.splitlines():
        name, number = line.split()
        numbers.setdefault(name, []).append(int(number))
    return numbers
