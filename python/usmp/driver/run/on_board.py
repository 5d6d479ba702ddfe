"""`tvmc run --board`: run the project of an archive in the emulator of its board."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from usmp.boards.board import board_named
from usmp.boards.board_run import BoardRuns
from usmp.boards.emulator import EmulatedModule
from usmp.boards.report import print_board_report
from usmp.driver.errors import UsageError
from usmp.driver.run.expected_outputs import Run, Tensors, check_outputs, reference_outputs
from usmp.driver.run.steps import joined_steps
from usmp.runtime import Archive
from usmp.runtime.reference import REFERENCE


def check_board(archive: Archive, options: argparse.Namespace) -> None:
    """Check that the archive was compiled for the board.

    Raises
    ------
    UsageError
        the archive is for another board or none, or has several modules; or the board is unknown.
    """
    board = board_named(options.board)
    modules = archive.metadata["modules"]
    compiled = next(iter(modules.values())).get("board")
    if len(modules) != 1 or compiled != board.name:
        purpose = f"for board {compiled}" if compiled else "for no board"
        if len(modules) != 1:
            purpose = f"of {len(modules)} models"
        raise UsageError(
            f"{options.FILE} is an archive {purpose}; compile the model with --board {board.name}"
        )


def load_board_module(archive: Archive, options: argparse.Namespace) -> EmulatedModule:
    """Build the project of an archive that `check_board` accepts."""
    metadata = archive.module(options.module_name).metadata
    board = board_named(options.board)
    return EmulatedModule(archive.files, metadata, board, sources=options.extra_source)


def report_run(
    archive: Archive,
    module: EmulatedModule,
    runs: BoardRuns,
    steps: Sequence[Run],
    expected: Tensors | None,
    options: argparse.Namespace,
) -> Tensors:
    """Print instructions and memory of runs in the emulator. Compare the outputs, and return them.

    Parameters
    ----------
    runs
        results of the runs in the emulator.
    steps
        entry, inputs and sizes of each run.
    expected
        outputs to compare with; by default those of the reference build.
    options
        options of the command, with C files of the user to compile on this host.

    Raises
    ------
    UsageError
        the outputs or their names differ from the expected ones.
    """
    outputs = joined_steps(runs.outputs, options.steps)
    print_board_report(module.board, runs, module.sections())
    where = "the expected outputs" if expected is not None else REFERENCE
    if expected is None:
        computed = reference_outputs(archive, None, steps, options.extra_source)
        expected = None if computed is None else joined_steps(computed, options.steps)
    if expected is not None:
        check_outputs(outputs, expected, f"board {module.board.name}", where)
    return outputs
