"""A symbolic size in the C interface of an entry."""

from __future__ import annotations

from dataclasses import dataclass

LARGEST_SIZE = 2**31 - 1
"""The largest `int32_t`, the type of sizes in C."""


@dataclass(frozen=True)
class EntrySize:
    """A size that each run of an entry takes.

    Parameters
    ----------
    name
        name of the symbolic variable in the model.
    c_name
        member of the C struct of inputs; in capitals, a part of macros.
    lower_bound, upper_bound
        the smallest and the largest value; None if unbounded.
    """

    name: str
    c_name: str
    lower_bound: int
    upper_bound: int | None

    @property
    def noted_value(self) -> int:
        """The value in recorded shapes: the upper bound, or the lower one if unbounded."""
        return self.lower_bound if self.upper_bound is None else self.upper_bound
