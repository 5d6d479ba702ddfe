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
from usmp.support.process.temporary_folder import temporary_folder

DEFAULT_TIMEOUT_SECONDS = 120.0

Tensors: TypeAlias = "Mapping[str, np.ndarray]"
Sizes: TypeAlias = "Mapping[str, int]"
Run: TypeAlias = "Tensors | tuple[str, Tensors] | tuple[str, Tensors, Sizes]"
"""The inputs of the only entry; or the name of an entry, its inputs, and optional sizes."""


class EmulatorError(RuntimeError):
    """The program failed in the emulator, or the emulator is missing."""


class EmulatedModule:
    """A model as a program for a board.

    Each call of `run` restarts the board, which resets the state. Threads that share an
    `EmulatedModule` take turns.

    Parameters
    ----------
    files
        files of an archive that was built for the board, by path.
    metadata
        parsed metadata of its module.
    board
        the board.
    variables
        variables of the Makefile, such as {"STACK_SIZE": "4096", "OPTIMIZATION": "-Os"}.
    sources
        C files of the user with functions of accelerators.

    Raises
    ------
    BuildError
        the archive has no project, make or the compiler is missing or fails, or no source defines a
        function of an accelerator.
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
        resources = ExitStack()
        directory = resources.enter_context(temporary_folder())
        self._cleanup = weakref.finalize(self, resources.close)
        self._project = directory / PROJECT_FOLDER
        folders = ("codegen/", f"{PROJECT_FOLDER}/")
        project_files = {name: text for name, text in files.items() if name.startswith(folders)}
        write_files(project_files, directory)
        include_sources(sources, self._project)
        build_project(self._project, board, variables or {})
        self._lock = Lock()  # Runs take turns, because they share the files of the folder.

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
        """Start the board, and run the model several times.

        Parameters
        ----------
        runs
            inputs of each run, or a tuple of the name of an entry, its inputs, and symbolic sizes
            that do not follow from the inputs.
        timeout_seconds
            time limit of the program.

        Raises
        ------
        ValueError
            an input is missing, unknown, or has another shape or element type; a size is unknown or
            out of range; or an entry is unknown or not named.
        EmulatorError
            the emulator is missing, or the program fails, exceeds its time limit, or does not write
            all results.
        """
        named = [self._named(run) for run in runs]
        order, content = [], []
        for entry, inputs, given_sizes in named:
            interface = self.entries[entry]
            arrays, sizes = checked_run(interface.inputs, interface.sizes, inputs, given_sizes)
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
        """Return the name of the entry of a run, its inputs, and its given sizes."""
        entry, inputs, *sizes = run if isinstance(run, tuple) else (None, run)
        return chosen_entry(self.name, list(self.entries), entry), inputs, dict(*sizes)

    def _runs(self, order: Sequence[tuple[str, Sizes]]) -> BoardRuns:
        """Read the results of the runs in `order`, each of an entry and its symbolic sizes.

        Raises
        ------
        OSError, ValueError, KeyError
            results are missing, or are those of other runs.
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
        """Return the sections of the program in memories of the board."""
        return read_sections((self._project / "model.elf").read_bytes(), self.board)

    def _split_outputs(
        self, content: bytes, order: Sequence[tuple[str, Sizes]]
    ) -> list[dict[str, np.ndarray]]:
        """Split the content of outputs.bin into the arrays of each run."""
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
    result = run_program(command, project, temporary=project)
    if result.returncode != 0:
        raise BuildError(linker_error(result.stderr, board) or _build_failure(board, result.stderr))


def _build_failure(board: Board, stderr: str) -> str:
    return (
        f"the project for board {board.name} cannot be built with {board.toolchain.compiler}:\n"
        f"{stderr.strip()}"
    )


def run_emulator(board: Board, directory: Path, elf: str, timeout_seconds: float) -> str:
    """Run a program in the emulator of a board, in a folder, and return its printed text.

    Raises
    ------
    EmulatorError
        the emulator is missing, or the program fails or exceeds its time limit.
    """
    emulator = board.emulator
    require_program(emulator.program, emulator.package, EmulatorError)
    try:
        result = run_program(emulator.command(elf), directory, timeout_seconds=timeout_seconds)
    except subprocess.TimeoutExpired:
        raise EmulatorError(
            f"the program did not end within {timeout_seconds:g} seconds in {emulator.program}; "
            "give it more with --timeout"
        ) from None
    printed = result.stdout + result.stderr
    if result.returncode != 0:
        text = printed.strip() or "it printed nothing"
        raise EmulatorError(
            f"the program failed in {emulator.program} with exit status {result.returncode}: {text}"
        )
    return printed


def require_program(program: str, packages: str, error: type[RuntimeError]) -> None:
    """Raise `error` with an install command if a program is missing."""
    if shutil.which(program) is None:
        raise error(f"{program} is not installed; apt-get install {packages}")


def _by_run(numbers: list[int], runs: int) -> list[list[int]]:
    """Split numbers evenly among runs, or return an empty list if there are none."""
    count = len(numbers) // max(runs, 1)
    if count * runs != len(numbers):
        raise ValueError("report.txt is of other runs")
    return [numbers[run * count : (run + 1) * count] for run in range(runs)] if numbers else []


def _numbers(report: str) -> dict[str, list[int]]:
    """Parse the lines "name number" of a report, in which names may repeat for each run."""
    numbers: dict[str, list[int]] = {"instructions": []}
    for line in report.splitlines():
        name, number = line.split()
        numbers.setdefault(name, []).append(int(number))
    return numbers
