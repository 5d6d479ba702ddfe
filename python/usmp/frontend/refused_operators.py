"""Operators that a front end refuses: why, and what to export instead."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """What is said of an operator that is not supported.

    Parameters
    ----------
    reason
        why no program of fixed memory computes it, or that nothing was compared.
    instead
        what to do about the model.
    """

    reason: str
    instead: str

    def __str__(self) -> str:
        return f"{self.reason}; {self.instead}"


FOUND_IN_DATA = (
    "how many elements it finds depends on the data, and memory is planned at compile time"
)
RANDOM = Refusal(
    "its results are random, and no two runtimes draw the same numbers",
    "make the numbers an input of the model, which the application draws",
)


def never_compared(instead: str) -> Refusal:
    """What is said of an operator that could be computed, but that nothing was compared with.

    Parameters
    ----------
    instead
        what to do about the model.
    """
    return Refusal("its results were never compared with those of another runtime", instead)


def by_operator(*groups: tuple[str, Refusal]) -> dict[str, Refusal]:
    """The refusal of each operator.

    Parameters
    ----------
    groups
        the names of operators, with spaces between them, and what is said of them.

    Raises
    ------
    ValueError
        an operator is in two groups.
    """
    refusals: dict[str, Refusal] = {}
    for names, refusal in groups:
        for name in names.split():
            if name in refusals:
                raise ValueError(f"{name} is refused twice")
            refusals[name] = refusal
    return refusals
