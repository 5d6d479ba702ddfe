"""The Pareto front: results that no other result dominates (nowhere worse, somewhere better)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from usmp.exploration.result import BUILT, COSTS, SHARED_CODE, Result


@dataclass(frozen=True)
class Verdict:
    """The comparison of a result with all others.

    Parameters
    ----------
    is_within_limits
        whether the result is built and within the limits of RAM and flash.
    dominated_by
        index of a result on the front that dominates this result; None if no result does, or if
        this result exceeds the limits.
    same_as
        index of the first result with the same costs; None if this result is the first or exceeds
        the limits.
    """

    is_within_limits: bool
    dominated_by: int | None = None
    same_as: int | None = None

    @property
    def is_best(self) -> bool:
        """Whether the result is on the front, and is the first one with its costs."""
        return self.is_within_limits and self.dominated_by is None and self.same_as is None


def compared_costs(results: Sequence[Result]) -> list[str]:
    """Return the names of the costs that are known for all built results."""
    built = [result for result in results if result.outcome == BUILT]
    return [name for name in COSTS if all(getattr(result, name) is not None for result in built)]


def judge(
    results: Sequence[Result], max_ram: int | None = None, max_flash: int | None = None
) -> list[Verdict]:
    """Return the verdict of each result.

    Where instructions are compared, a result with more shared code dominates none with less,
    because the estimate leaves out the instructions that shared code costs.

    Parameters
    ----------
    results
        results in the order of the sweep.
    max_ram, max_flash
        limits in bytes; a result that exceeds one is not on the front, and dominates no result.
    """
    names = compared_costs(results)
    costs = [_costs(result, names) for result in results]
    within = [
        index for index, result in enumerate(results) if _is_within(result, max_ram, max_flash)
    ]
    first: dict[tuple[int, ...], int] = {}
    for index in within:
        first.setdefault(costs[index], index)
    front = [cost for cost in first if not any(_dominates(other, cost) for other in first)]
    verdicts = []
    for index, cost in enumerate(costs):
        if index not in within:
            verdicts.append(Verdict(False))
            continue
        better = next((first[other] for other in front if _dominates(other, cost)), None)
        earliest = first[cost]
        verdicts.append(Verdict(True, better, None if earliest == index else earliest))
    return verdicts


def _is_within(result: Result, max_ram: int | None, max_flash: int | None) -> bool:
    if result.ram_bytes is None or result.flash_bytes is None:
        return False
    return (max_ram is None or result.ram_bytes <= max_ram) and (
        max_flash is None or result.flash_bytes <= max_flash
    )


def _costs(result: Result, names: Sequence[str]) -> tuple[int, ...]:
    """Return the costs to compare; with instructions, also the rank of the shared code, whose cost
    the instructions leave out."""
    costs = tuple(getattr(result, name) for name in names)
    return (*costs, _sharing(result)) if "instructions" in names else costs


def _sharing(result: Result) -> int:
    """Return 0 if operators share no code, else a rank by how much code they share."""
    return 0 if result.shared_code is None else 1 + SHARED_CODE.index(result.shared_code)


def _dominates(cost: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return cost != other and all(a <= b for a, b in zip(cost, other, strict=True))
