"""Which parts of tensors are copied: as few as need no more memory than others.

A tensor that lies in another one needs no copy, but lives as long as that does. What this costs
depends on what may overlap where, so some choices are planned, and the best one is taken. Making
all copies is one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tvm.ir import IRModule

from usmp.relax.elide_moves import Move
from usmp.relax.lower_main import lower_main_with
from usmp.transform import OrderOperators
from usmp.transform.compare_plans import planned_peaks

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
    """The peak of the workspace, planned as the PassContext says (see `planned_peaks`), with the
    operators in the order that it asks for. No pools are given yet: there is one without a limit.
    """
    peaks = planned_peaks(OrderOperators()(mod))
    assert peaks is not None
    return max(peaks, default=0)


def _try(mod: IRModule, output_names: list[str] | None, wanted: frozenset[int]) -> _Trial:
    lowered, moves = lower_main_with(mod, output_names, wanted)
    return _Trial(lowered, moves, planned_bytes(lowered))


def _groups(moves: list[Move]) -> Iterator[frozenset[int]]:
    """The positions of moves that belong together."""
    for number in dict.fromkeys(move.group for move in moves):
        yield frozenset(index for index, move in enumerate(moves) if move.group == number)
