"""Count the instructions of each operator on an emulated board, by hooks of a profiled model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from usmp.boards.board import Board
from usmp.boards.board_run import BoardRuns
from usmp.boards.emulator import DEFAULT_TIMEOUT_SECONDS, EmulatedModule, Tensors
from usmp.plain.entry_names import chosen_entry
from usmp.runtime.operator_profile import Profile, check_has_hooks, profile_of


def profile_on_board(
    files: Mapping[str, bytes],
    metadata: Mapping[str, Any],
    board: Board,
    inputs: Tensors,
    entry: str | None = None,
    *,
    sizes: Mapping[str, int] | None = None,
    variables: Mapping[str, str] | None = None,
    sources: Sequence[str | Path] = (),
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
) -> Profile:
    """Run the project of an archive once in the emulator, and return the instructions by operator.

    Parameters
    ----------
    files
        files of an archive, or `AOTExecutorFactoryModule.files`, by path.
    metadata
        parsed metadata of its module, built with `tir.usmp.debug=profile`.
    board
        the board of the build.
    inputs
        an array for each input of the entry.
    entry
        name of the entry; optional if there is only one.
    sizes
        symbolic sizes that do not follow from the shapes of the inputs.
    variables, sources
        as in `EmulatedModule`.
    timeout_seconds
        time limit of the program.

    Returns
    -------
    Profile
        Instructions of each operator, from the passing of its arguments to its return. Instructions
        of the hooks are not counted.

    Raises
    ------
    NotProfiled
        the model was built without `tir.usmp.debug=profile`.
    BuildError, EmulatorError, ValueError
        as in `EmulatedModule` and its `run`.
    """
    check_has_hooks(metadata)
    module = EmulatedModule(files, metadata, board, variables, sources)
    run = (chosen_entry(module.name, list(module.entries), entry), inputs, sizes or {})
    return profile_of_runs(metadata, module.run([run], timeout_seconds), entry)


def profile_of_runs(metadata: Mapping[str, Any], runs: BoardRuns, entry: str | None) -> Profile:
    """Return the profile of the first run of a program, which must be a run of the entry.

    Raises
    ------
    NotProfiled
        the model was built without `tir.usmp.debug=profile`.
    """
    check_has_hooks(metadata)
    costs = [float(count) for count in runs.operators[0]] if runs.operators else []
    return profile_of(metadata, entry, "instructions", costs, 1)
