"""The bytes of accesses that were found before."""

from __future__ import annotations

from usmp.analysis.memory.accessed_bytes import accessed_bytes
from usmp.analysis.memory.index_values import Bindings, NotKnown, Values
from usmp.analysis.memory.traced_access import TracedAccess

AccessedBytes = tuple[Values, Values] | None
"""As `accessed_bytes`; None if they are not known."""

_MOST_OF_ONE = 1 << 12
"""Values of an access that are kept."""

_MOST_OF_ALL = 1 << 21
"""Values that are kept, in two arrays of 8 bytes each."""


class KeptBytes:
    """What accesses touch, found once, and kept for as many of them as the limit allows."""

    def __init__(self) -> None:
        self._found: dict[tuple[TracedAccess, int], AccessedBytes] = {}
        self._values = 0

    def of(self, access: TracedAccess, bound: Bindings, common: int) -> AccessedBytes:
        """As `accessed_bytes`, which has the parameters."""
        key = access, common
        if key in self._found:
            return self._found[key]
        try:
            found = accessed_bytes(access, bound, common)
        except NotKnown:
            found = None
        if values_of(found) <= _MOST_OF_ONE:
            self._found[key] = found
            self._values += values_of(found)
            while self._values > _MOST_OF_ALL:
                self._values -= values_of(self._found.pop(next(iter(self._found))))
        return found


def values_of(found: AccessedBytes) -> int:
    """Values of each of the two arrays; at least 1."""
    return 1 if found is None else max(found[0].size, 1)
