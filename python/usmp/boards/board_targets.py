"""What a board says about the targets of a build: its core, and LLVM's options for it."""

from __future__ import annotations

import json
from dataclasses import replace

from tvm.target import Target

from usmp.boards.board import Board
from usmp.names import GENERIC_CORE
from usmp.objects.cores import named_core
from usmp.objects.targets import BuildTargets, parse_targets, target_text


def board_targets(board: Board | None, targets: BuildTargets) -> BuildTargets:
    """The targets with the core of the board, which they may leave out.

    Of "llvm" without -mtriple, which TVM takes for this host, the options are the board's too.

    Raises
    ------
    ValueError
        the target is for another core than the board's.
    """
    if board is None:
        return targets
    _check_core(board, targets.cpu)
    if targets.cpu.kind.name != "llvm":
        is_said = not board.core or named_core(targets.cpu) is not None
        return targets if is_said else replace(targets, cpu=_with_core(targets.cpu, board.core))
    if targets.cpu.attrs.get("mtriple") != Target("llvm").attrs.get("mtriple"):
        return targets
    return replace(targets, cpu=parse_targets(f"llvm {board.llvm_options}").cpu)


def _check_core(board: Board, target: Target) -> None:
    """Refuse a target whose -mcpu is not the board's; it may say what the core lacks."""
    core = named_core(target)
    if core is None or core == GENERIC_CORE or core.split("+")[0] == board.core:
        return
    # LLVM has several names for one RISC-V.
    if target.kind.name == "llvm" and not board.core:
        return
    raise ValueError(
        f'board {board.name} and target "{target_text(target)}" contradict each other; the board '
        f"is: {board.description}; leave -mcpu out, or choose another board"
    )


def _with_core(target: Target, core: str) -> Target:
    fields = json.loads(str(target))
    # TVM knows them by the core.
    del fields["keys"]
    return Target({**fields, "mcpu": core})
