"""Instructions by operator on an emulated board, by the hooks that a profiled model calls."""

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
    """Build the project of an archive for its board, run it once in the emulator, and say what each
    operator takes.

    Parameters
    ----------
    files
        the files of an archive, or of `AOTExecutorFactoryModule.files`: path -> content.
    metadata
        the parsed metadata of its module, which was built with `tir.usmp.profile`.
    board
        the board that it was built for.
    inputs
        an array for each input of the entry.
    entry
        its name; the only one by default.
    sizes
        symbolic sizes that do not follow from the shapes of the inputs.
    variables, sources
        as for `EmulatedModule`.
    timeout_seconds
        after which the program is ended.

    Returns
    -------
    Profile
        In instructions, those of the hooks left out: each operator from the instructions that
        pass its arguments to its return.

    Raises
    ------
    NotProfiled
        the model was built without `tir.usmp.profile`.
    BuildError, EmulatorError, ValueError
        as `EmulatedModule` and its `run` raise them.
    """
    check_has_hooks(metadata)
    module = EmulatedModule(files, metadata, board, variables, sources)
    run = (chosen_entry(module.name, list(module.entries), entry), inputs, sizes or {})
    return profile_of_runs(metadata, module.run([run], timeout_seconds), entry)


def profile_of_runs(metadata: Mapping[str, Any], runs: BoardRuns, entry: str | None) -> Profile:
    """The profile of the first run of a program, which is one of the entry.

    Raises
    ------
    NotProfiled
        the model was built without `tir.usmp.profile`.
    """
    check_has_hooks(metadata)
    costs = [float(count) for count in runs.operators[0]] if runs.operators else []
    return profile_of(metadata, entry, "instructions", costs, 1)
