"""`tvmc run --board`: run an archive's project in the emulator of its board."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

import numpy as np

from usmp.boards.board import Board, board_named
from usmp.boards.board_run import BoardRuns
from usmp.boards.emulator import EmulatedModule
from usmp.boards.report import print_board_report
from usmp.driver.errors import UsageError
from usmp.runtime import Archive, BuildError
from usmp.runtime.compare import first_difference
from usmp.support.plain_text import printable

Tensors = Mapping[str, np.ndarray]


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
    run: tuple[str, Tensors, Mapping[str, int]],
    expected: Tensors | None,
    sources: Sequence[str] = (),
) -> dict[str, np.ndarray]:
    """Print what a run in the emulator took; its outputs.

    Parameters
    ----------
    runs
        what the program did.
    run
        the entry that it ran, once, the inputs and the sizes.
    expected
        outputs to compare with; those of this host if missing.
    sources
        C files of the user, which this host needs too.

    Raises
    ------
    UsageError
        the outputs are other ones, or `expected` has others.
    """
    (outputs,) = runs.outputs
    print_board_report(module.board, runs, module.sections())
    where = "the expected outputs" if expected is not None else "those of this host"
    if expected is None:
        expected = _host_outputs(archive, *run, sources)
    if expected is not None:
        _compare(outputs, expected, module.board, where)
        print(f"The outputs equal {where}.")
    return outputs


def _host_outputs(
    archive: Archive,
    entry: str,
    inputs: Tensors,
    sizes: Mapping[str, int],
    sources: Sequence[str],
) -> dict[str, np.ndarray] | None:
    """The outputs of the same code on this host; None, and why, if it cannot be built."""
    try:
        return archive.load(sources=sources).run(inputs, entry, sizes)
    except BuildError as error:
        print(f"The outputs were not compared: {printable(str(error).splitlines()[0])}")
        return None


def _compare(outputs: Tensors, expected: Tensors, board: Board, where: str) -> None:
    _check_names(list(outputs), list(expected))
    for name, value in outputs.items():
        difference = first_difference(value, expected[name])
        if difference is not None:
            raise UsageError(
                f'output "{name}" on board {board.name} differs from {where}: {difference}'
            )


def _check_names(outputs: Sequence[str], expected: Sequence[str]) -> None:
    missing = [name for name in outputs if name not in expected]
    unknown = [name for name in expected if name not in outputs]
    if missing or unknown:
        what = f'lack output "{missing[0]}"' if missing else f'have an unknown "{unknown[0]}"'
        raise UsageError(f"the expected outputs {what}; the model's outputs: {', '.join(outputs)}")
