"""Names that must differ: a name that comes again gets a number."""

from __future__ import annotations

from collections.abc import Iterable


class UniqueNames:
    """Names that are taken; a name that comes again gets the first free number.

    Parameters
    ----------
    taken
        names that are taken from the start.
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


def names_apart(names: Iterable[str]) -> list[str]:
    """The same names, in order, but for numbers at those that came before.

    A name that no number was added to stays as it is, whatever the others become.
    """
    wanted = [str(name) for name in names]
    numbers = UniqueNames(wanted)
    seen: set[str] = set()
    apart = []
    for name in wanted:
        apart.append(numbers.unique(name) if name in seen else name)
        seen.add(name)
    return apart
