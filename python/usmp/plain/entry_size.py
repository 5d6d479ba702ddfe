"""A size that only the run knows, as an application in C meets it."""

from __future__ import annotations

from dataclasses import dataclass

LARGEST_SIZE = 2**31 - 1
"""Runs are given sizes as `int32_t`."""


@dataclass(frozen=True)
class EntrySize:
    """A size that each run of an entry takes.

    Parameters
    ----------
    name
        of the symbolic variable, as in the model.
    c_name
        the member of the C struct of inputs; in capitals a part of macros.
    lower_bound, upper_bound
        the least and the greatest value; None if there is no greatest one.
    """

    name: str
    c_name: str
    lower_bound: int
    upper_bound: int | None

    @property
    def noted_value(self) -> int:
        """At which shapes are noted: the upper bound, or the lower one if there is none."""
        return self.lower_bound if self.upper_bound is None else self.upper_bound
