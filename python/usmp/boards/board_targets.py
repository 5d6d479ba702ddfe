"""Complete the targets of a build with the core of a board and LLVM's options for the core."""

from __future__ import annotations

import json
from dataclasses import replace

from tvm.target import Target

from usmp.boards.board import Board
from usmp.names import GENERIC_CORE
from usmp.objects.target.cores import named_core
from usmp.objects.target.targets import BuildTargets, parse_targets, target_text


def board_targets(board: Board | None, targets: BuildTargets) -> BuildTargets:
    """Return the targets with the core of the board, because users may omit it.

    The target "llvm" without -mtriple, which TVM takes for this host, gets the board's options.

    Raises
    ------
    ValueError
        the target is for another core.
    """
    if board is None:
        return targets
    _check_core(board, targets.cpu)
    if targets.cpu.kind.name != "llvm":
        is_complete = not board.core or named_core(targets.cpu) is not None
        return targets if is_complete else replace(targets, cpu=_with_core(targets.cpu, board.core))
    if targets.cpu.attrs.get("mtriple") != Target("llvm").attrs.get("mtriple"):
        return targets
    return replace(targets, cpu=parse_targets(f"llvm {board.llvm_options}").cpu)


def _check_core(board: Board, target: Target) -> None:
    """Raise if the -mcpu of a target names another core than the board's; features may differ."""
    core = named_core(target)
    if core is None or core == GENERIC_CORE or core.split("+")[0] == board.core:
        return
    # Accept any name, because LLVM has several names for one RISC-V core.
    if target.kind.name == "llvm" and not board.core:
        return
    raise ValueError(
        f'board {board.name} and target "{target_text(target)}" contradict each other; the board '
        f"is: {board.description}; leave -mcpu out, or choose another board"
    )


def _with_core(target: Target, core: str) -> Target:
    fields = json.loads(str(target))
    # Remove the keys, because TVM derives them from the core.
    del fields["keys"]
    return Target({**fields, "mcpu": core})
