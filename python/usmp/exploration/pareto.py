"""Which results no other one is better than in every respect: the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from usmp.exploration.result import BUILT, COSTS, Result


@dataclass(frozen=True)
class Verdict:
    """How a result compares with all others.

    Parameters
    ----------
    is_within_limits
        built, and within the limits of RAM and flash.
    dominated_by
        the index of a result that is nowhere worse and somewhere better; itself dominated by
        none. None if there is none.
    same_as
        the index of the first result with the same costs; None if that is this one.
    """

    is_within_limits: bool
    dominated_by: int | None = None
    same_as: int | None = None

    @property
    def is_best(self) -> bool:
        """Whether it is on the front, and the first with its costs."""
        return self.is_within_limits and self.dominated_by is None and self.same_as is None


def compared_costs(results: Sequence[Result]) -> list[str]:
    """The names of the costs that are compared: those that are known of all built results."""
    built = [result for result in results if result.outcome == BUILT]
    return [name for name in COSTS if all(getattr(each, name) is not None for each in built)]


def judge(
    results: Sequence[Result], max_ram: int | None = None, max_flash: int | None = None
) -> list[Verdict]:
    """Compare results, as many as there are.

    Parameters
    ----------
    results
        in the order of the sweep.
    max_ram, max_flash
        bytes; what takes more is on no front, and dominates nothing.
    """
    names = compared_costs(results)
    costs = [tuple(getattr(result, name) for name in names) for result in results]
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


def _dominates(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))
