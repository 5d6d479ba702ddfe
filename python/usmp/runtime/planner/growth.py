"""The sizes for which a `MemoryPlanner` makes a new plan.

A plan is for the largest sizes so far, which never shrink. Calls with alternating sizes therefore
need a plan only for each new maximum. If the maximum rises in each call, as with a cache of tokens,
plans get headroom, so that their number grows with the logarithm of the size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class GrowthPolicy:
    """The headroom of plans beyond the largest sizes so far.

    Parameters
    ----------
    headroom
        relative increase of sizes that rise in each call: with 0.125, 800 bytes become 900.
    after
        number of consecutive calls with a new plan after which plans get headroom.

    Raises
    ------
    ValueError
        The headroom is negative or NaN, or `after` is less than 1.
    """

    headroom: float = 0.125
    after: int = 8

    def __post_init__(self) -> None:
        if not 0 <= self.headroom < float("inf"):
            raise ValueError(f"headroom must be a part of at least 0, not {self.headroom}")
        if self.after < 1:
            raise ValueError(f"after must be at least 1 call, not {self.after}")


@dataclass
class SizeRecords:
    """A counter of consecutive runs that needed a new plan, which decides on headroom.

    Parameters
    ----------
    policy
        headroom of plans.
    """

    policy: GrowthPolicy
    _last_run: int = field(default=-1, init=False)
    _in_a_row: int = field(default=0, init=False)

    def note_plan(self, run: int) -> None:
        """Record that a plan is made in a run. Runs count from 1."""
        if run > self._last_run + 1:
            self._in_a_row = 0
        if run > self._last_run:
            self._in_a_row += 1
        self._last_run = run

    @property
    def is_rising(self) -> bool:
        """Whether more than `policy.after` consecutive runs up to the last plan made new plans."""
        return self._in_a_row > self.policy.after

    def raised(self, largest: Sequence[int]) -> list[int]:
        """Return the sizes with headroom if they are rising. A size of -1 (no tensor) stays."""
        if not self.is_rising:
            return list(largest)
        return [size + int(size * self.policy.headroom) if size > 0 else size for size in largest]
