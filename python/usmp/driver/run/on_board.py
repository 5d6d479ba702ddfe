"""`tvmc run --board`: run an archive's project in the emulator of its board."""

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
        it was compiled for another one or for none, or there is no such board.
    """
    board = board_named(options.board)
    modules = archive.metadata["modules"]
    compiled = next(iter(modules.values())).get("board")
    if len(modules) != 1 or compiled != board.name:
        what = f"for board {compiled}" if compiled else "for no board"
        if len(modules) != 1:
            what = f"of {len(modules)} models"
        raise UsageError(
            f"{options.FILE} is an archive {what}; compile the model with --board {board.name}"
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
    """Print what runs in the emulator took; the outputs of all steps.

    Parameters
    ----------
    runs
        what the program did.
    steps
        the entry that it ran, the inputs and the sizes.
    expected
        outputs to compare with; those of the reference build if missing.
    options
        which have C files of the user, which this host needs too.

    Raises
    ------
    UsageError
        the outputs are other ones, or `expected` has others.
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
