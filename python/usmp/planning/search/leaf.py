"""The plan of a choice, and the comparison of choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tvm.ir import IRModule

from usmp.names import BALANCED, BALANCED_PERCENT, RAM, SPEED
from usmp.planning.search.choice import Allowance, Choice
from usmp.planning.session import Peaks


@dataclass(frozen=True, eq=False)
class Leaf:
    """The result of one choice: its module, and the peaks of its plan.

    Parameters
    ----------
    choice
        the choice.
    mod
        the module with this choice, from which the search continues; None if the choice was
        refused, or skipped because of its bound.
    lowered
        the module that was planned; None if the choice was refused or skipped.
    peaks
        bytes of each workspace pool in its plan; None without a plan within the limit.
    low
        a proved lower bound of the peaks, if the choice was skipped because of this bound.
    error
        error of a later pass that refuses the choice.
    """

    choice: Choice
    mod: IRModule | None
    lowered: IRModule | None = None
    peaks: Peaks | None = None
    low: Peaks | None = None
    error: ValueError | None = None


def memory_limit(optimize: str, least: Peaks) -> Peaks | None:
    """Return the bytes that each pool may use by `tir.usmp.optimize`; None for the whole pool.

    Parameters
    ----------
    optimize
        the value of the option.
    least
        bytes of each pool in the smallest plan.
    """
    if optimize == SPEED:
        return None
    percent = {RAM: 100, BALANCED: BALANCED_PERCENT}[optimize]
    return tuple(peak * percent // 100 for peak in least)


def is_within(peaks: Peaks, limit: Peaks | None) -> bool:
    """Return whether no pool has more bytes than its limit.

    A plan in other pools than those of the limit is not within it.
    """
    if limit is None:
        return True
    return len(peaks) == len(limit) and all(p <= q for p, q in zip(peaks, limit, strict=True))


def best_leaf(leaves: Sequence[Leaf], allowance: Allowance, optimize: str) -> int:
    """Return the position of the best leaf. Choices are compared only here.

    If no leaf has a plan, it is the leaf with the smallest bound, or else the first one.
    Refused choices come last.

    Parameters
    ----------
    leaves
        one or more leaves, in the order in which they were planned.
    allowance
        see `Allowance`.
    optimize
        the value of `tir.usmp.optimize`.
    """
    least = min((leaf.peaks for leaf in leaves if leaf.peaks is not None), default=None)
    limit = None if least is None else memory_limit(optimize, least)

    def rank(position: int) -> tuple[Any, ...]:
        leaf = leaves[position]
        choice = leaf.choice
        if leaf.peaks is None:
            bound = choice.bound_bytes
            return 2, leaf.error is not None, bound == 0, bound, position
        if allowance is Allowance.WITHIN and is_within(leaf.peaks, limit):
            return 0, choice.prefers, position
        return 1, leaf.peaks, choice.prefers, position

    return min(range(len(leaves)), key=rank)
