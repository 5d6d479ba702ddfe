"""A value of one decision."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum


class Allowance(Enum):
    """Which of the planned choices a stage takes."""

    LEAST = "least"
    """The one with the smallest plan; of equal ones the preferred one."""

    WITHIN = "within"
    """The preferred one within the memory that `tir.usmp.optimize` allows above the smallest."""


@dataclass(frozen=True)
class Choice:
    """A value that a stage can take.

    Parameters
    ----------
    value
        plain data that says how to rewrite a module, without objects of TVM.
    label
        the value as users read it, and by which `fixed_choices` names it.
    prefers
        costs beside memory, the most important first; lower is better, and none is the lowest.
    bound_bytes
        a lower bound of every plan with this value, of one workspace pool; 0 if none is known.
    """

    value: Hashable
    label: str
    prefers: tuple[int, ...] = ()
    bound_bytes: int = 0
