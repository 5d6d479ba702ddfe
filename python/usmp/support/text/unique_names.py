"""Unique names: a repeated name gets a number."""

from __future__ import annotations

from collections.abc import Iterable


class UniqueNames:
    """A generator of unique names; a repeated name gets the next unused number.

    Parameters
    ----------
    taken
        names that are in use from the start.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._last_number: dict[str, int] = {}

    def unique(self, name: str) -> str:
        """Return `name`, or `name_1`, `name_2`, ..., and mark it as used."""
        candidate, number = name, self._last_number.get(name, 0)
        while candidate in self._taken:
            number += 1
            candidate = f"{name}_{number}"
        self._last_number[name] = number
        self._taken.add(candidate)
        return candidate


def names_apart(names: Iterable[str]) -> list[str]:
    """Return the names in order, with numbers at repeated ones.

    A name with a number never equals another name of the list.
    """
    wanted = [str(name) for name in names]
    numbers = UniqueNames(wanted)
    seen: set[str] = set()
    apart = []
    for name in wanted:
        apart.append(numbers.unique(name) if name in seen else name)
        seen.add(name)
    return apart
