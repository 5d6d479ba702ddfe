"""Which parts of tensors are copied: as few as need no more memory than others.

A tensor that lies in another one needs no copy, but lives as long as that does. What this costs
depends on what may overlap where, so some choices are planned, and the best one is taken. Making
all copies is one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import tvm
from tvm import tirx
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.algorithms import get_algorithm
from usmp.analysis import create_array_buffer_info, extract_buffer_info
from usmp.analysis.stmt_pool_allocations import is_constant_info
from usmp.objects.attributes import MAIN_FUNCTION_NAME
from usmp.relax.elide_moves import Move
from usmp.relax.lower_main import lower_main_with
from usmp.transform import AssignPoolInfo, CreateAllocatesForIO

_MOST_TRIALS = 8
"""Choices that are planned."""


@dataclass(frozen=True)
class _Trial:
    mod: IRModule
    moves: list[Move]
    peak_bytes: int

    @property
    def cost(self) -> tuple[int, int]:
        """Bytes, then copies."""
        return self.peak_bytes, sum(not move.is_elided for move in self.moves)

    @property
    def elided(self) -> frozenset[int]:
        return frozenset(index for index, move in enumerate(self.moves) if move.is_elided)


def choose_moves(mod: IRModule, output_names: list[str] | None) -> IRModule:
    """`lower_main`, with those copies that make the peak of the workspace least, as the PassContext
    asks it to be planned (see `planned_bytes`).

    Raises
    ------
    UnsupportedModelError, ValueError: as `lower_main`.
    """
    lowered, moves = lower_main_with(mod, output_names)
    if not moves:
        return lowered
    best = _Trial(lowered, moves, planned_bytes(lowered))
    tried = [best]
    for wanted in (frozenset(range(len(moves))), frozenset[int]()):
        tried.append(_try(mod, output_names, wanted))
    best = min(tried, key=lambda trial: trial.cost)
    if len({trial.peak_bytes for trial in tried}) == 1:
        return best.mod
    for group in list(_groups(moves))[: _MOST_TRIALS - len(tried)]:
        wanted = best.elided - group if group <= best.elided else best.elided | group
        best = min(best, _try(mod, output_names, wanted), key=lambda trial: trial.cost)
    return best.mod


def planned_bytes(mod: IRModule) -> int:
    """The peak of the workspace if all of it is one pool without a limit.

    Reads from the PassContext `tir.usmp.use_workspace_io`, `tir.usmp.preserve_inputs` and
    `tir.usmp.overlap`.
    """
    config = PassContext.current().config
    mod = tirx.transform.BindTarget(tvm.target.Target("c"))(mod)
    if config.get("tir.usmp.use_workspace_io", False):
        mod = CreateAllocatesForIO()(mod)
    mod = AssignPoolInfo()(mod)
    analysis = extract_buffer_info(
        mod[MAIN_FUNCTION_NAME],
        mod,
        overlap=bool(config.get("tir.usmp.overlap", True)),
        preserve_inputs=bool(config.get("tir.usmp.preserve_inputs", False)),
    )
    buffers = create_array_buffer_info(analysis.buffer_info_stmts)
    workspace = [buffer for buffer in buffers if not is_constant_info(buffer)]
    plan = get_algorithm("auto")(workspace, analysis.memory_pressure)
    return max((int(plan[b].byte_offset) + int(b.size_bytes) for b in workspace), default=0)


def _try(mod: IRModule, output_names: list[str] | None, wanted: frozenset[int]) -> _Trial:
    lowered, moves = lower_main_with(mod, output_names, wanted)
    return _Trial(lowered, moves, planned_bytes(lowered))


def _groups(moves: list[Move]) -> Iterator[frozenset[int]]:
    """The positions of moves that belong together."""
    for number in dict.fromkeys(move.group for move in moves):
        yield frozenset(index for index, move in enumerate(moves) if move.group == number)
