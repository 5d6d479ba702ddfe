"""Which parts of tensors are copied: as few as need no more memory than others.

A tensor that lies in another one needs no copy, but lives as long as that does. What this costs
depends on what may overlap where, so some choices are planned, and the best one is taken. Making
all copies is one of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
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
    """A choice: the moves that are elided, by position, and what it costs in bytes and copies."""

    mod: IRModule
    elided: frozenset[int]
    cost: tuple[int, int]


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
    tried: dict[frozenset[int], _Trial] = {}

    def trial_of(lowered: IRModule, moves: list[Move]) -> _Trial:
        elided = frozenset(index for index, move in enumerate(moves) if move.is_elided)
        if elided not in tried:
            cost = planned_bytes(lowered), len(moves) - len(elided)
            tried[elided] = _Trial(lowered, elided, cost)
        return tried[elided]

    def attempt(wanted: Collection[int]) -> _Trial:
        return trial_of(*lower_main_with(mod, output_names, wanted))

    first = [trial_of(lowered, moves), attempt(range(len(moves))), attempt(())]
    best = min(first, key=lambda trial: trial.cost)
    if len({trial.cost[0] for trial in first}) == 1:
        return best.mod
    for group in list(_groups(moves))[: _MOST_TRIALS - len(first)]:
        wanted = best.elided - group if group <= best.elided else best.elided | group
        best = min(best, attempt(wanted), key=lambda trial: trial.cost)
    return best.mod


def planned_bytes(mod: IRModule) -> int:
    """The peak of the workspace, planned as the PassContext says (see `planned_peaks`), with the
    operators in the order that it asks for. No pools are given yet: there is one without a limit.
    """
    peaks = planned_peaks(OrderOperators()(mod))
    assert peaks is not None
    return max(peaks, default=0)


def _groups(moves: list[Move]) -> Iterator[frozenset[int]]:
    """The positions of moves that belong together."""
    for number in dict.fromkeys(move.group for move in moves):
        yield frozenset(index for index, move in enumerate(moves) if move.group == number)
