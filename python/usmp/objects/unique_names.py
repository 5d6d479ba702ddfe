"""Names that must differ: a name that comes again gets a number."""

from __future__ import annotations

from collections.abc import Iterable


class UniqueNames:
    """Names that are taken; a name that comes again gets the first free number.

    Parameters
    ----------
    taken: names that are taken from the start.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._last_number: dict[str, int] = {}

    def unique(self, name: str) -> str:
        """`name`, or `name_1`, `name_2`, ..., taken from now on."""
        candidate, number = name, self._last_number.get(name, 0)
        while candidate in self._taken:
            number += 1
            candidate = f"{name}_{number}"
        self._last_number[name] = number
        self._taken.add(candidate)
        return candidate
