"""A value of one decision."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum


class Allowance(Enum):
    """The rule by which a stage takes one of its planned choices."""

    LEAST = "least"
    """The choice with the smallest plan; of equal plans the preferred choice."""

    WITHIN = "within"
    """The preferred choice within the memory that the option `optimize` allows (`memory_limit`)."""


@dataclass(frozen=True)
class Choice:
    """A value that a stage can take.

    Parameters
    ----------
    value
        plain data that tells the stage how to rewrite a module, without objects of TVM.
    label
        text of the value for users, and its name in `fixed_choices`.
    prefers
        costs besides memory, the most important first; lower is better, and empty is lowest.
    bound_bytes
        a lower bound of all plans with this value, in one workspace pool; 0 if none is known.
    """

    value: Hashable
    label: str
    prefers: tuple[int, ...] = ()
    bound_bytes: int = 0
