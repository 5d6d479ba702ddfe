"""When a planner plans again, and for which sizes.

Sizes are the largest so far and never shrink by themselves, so a sequence of calls that goes to and
fro plans at most once for each size that is larger than all before. Where the largest size rises
call after call, as that of a cache of tokens, plans get headroom, so that their number grows with
the logarithm of the size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class GrowthPolicy:
    """How much more than the largest sizes so far a plan has room for.

    Parameters
    ----------
    headroom
        the part by which sizes are raised where they rise call after call; of 0.125, 800 bytes
        become 900. Else plans are for the largest sizes exactly.
    after
        how many calls in a row, each with a plan of its own, are needed for that.

    Raises
    ------
    ValueError
        The headroom is negative or no number, or `after` is less than 1.
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
    """The largest sizes so far, in bytes by tensor, and how often they grew of late.

    Parameters
    ----------
    policy
        how sizes are raised.
    """

    policy: GrowthPolicy
    _last_run: int = field(default=-1, init=False)
    _in_a_row: int = field(default=0, init=False)

    def note_plan(self, run: int) -> None:
        """A plan is made in this run, counted from 1."""
        if run > self._last_run + 1:
            self._in_a_row = 0
        if run > self._last_run:
            self._in_a_row += 1
        self._last_run = run

    @property
    def is_rising(self) -> bool:
        """Whether each of the last runs, this one included, needed a plan of its own."""
        return self._in_a_row > self.policy.after

    def raised(self, largest: Sequence[int]) -> list[int]:
        """The sizes with room to grow, if they are rising; -1, never allocated, stays."""
        if not self.is_rising:
            return list(largest)
        return [size + int(size * self.policy.headroom) if size > 0 else size for size in largest]
