"""Reasons why a front end refuses operators, and replacements to export."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """The end of the error message about an unsupported operator.

    Parameters
    ----------
    reason
        why the operator is not supported, for example since its memory is not fixed.
    instead
        how to change the model.
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
    """Return the refusal of an operator whose results are untested.

    Parameters
    ----------
    instead
        how to change the model.
    """
    return Refusal("its results were never compared with those of another runtime", instead)


def by_operator(*groups: tuple[str, Refusal]) -> dict[str, Refusal]:
    """Return the refusal of each operator.

    Parameters
    ----------
    groups
        names of operators, separated by spaces, and their common refusal.

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
