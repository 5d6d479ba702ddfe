"""The time at which searches for a better plan end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from usmp.support.text.durations import parse_duration


@dataclass(frozen=True)
class Deadline:
    """A time at which searches end with the best plan so far.

    Parameters
    ----------
    seconds
        time on the clock, in seconds.
    clock
        a monotonic clock, in seconds.
    """

    seconds: float
    clock: Callable[[], float] = time.monotonic

    def remaining_seconds(self) -> float:
        """Return the seconds that remain, at least 0."""
        return max(self.seconds - self.clock(), 0.0)

    def is_over(self) -> bool:
        """Return whether no time remains."""
        return not self.remaining_seconds()

    def search_seconds(self) -> float:
        """Return the remaining seconds as a solver's budget, which must be above 0."""
        return max(self.remaining_seconds(), 1e-9)

    def share(self, builds: int) -> Deadline:
        """Return the deadline of the first of `builds` builds that share the remaining time."""
        if builds == 1:
            return self
        now = self.clock()
        return Deadline(now + max(self.seconds - now, 0.0) / builds, self.clock)


def has_passed(deadline: Deadline | None) -> bool:
    """Return whether a deadline has passed; False if there is none."""
    return deadline is not None and deadline.is_over()


def deadline_after(budget: str | None, start_seconds: float | None = None) -> Deadline | None:
    """Return the end of a time budget; None if there is none.

    Parameters
    ----------
    budget
        a duration, such as "10s".
    start_seconds
        start of the command or call, on the clock `time.monotonic`; now by default.

    Raises
    ------
    ValueError
        the budget is not a duration.
    """
    if budget is None:
        return None
    seconds = parse_duration(budget)
    return Deadline((time.monotonic() if start_seconds is None else start_seconds) + seconds)


def earliest(*deadlines: Deadline | None) -> Deadline | None:
    """Return the deadline with the least remaining time; None if there is none."""
    known = [deadline for deadline in deadlines if deadline is not None]
    return min(known, key=Deadline.remaining_seconds, default=None)
