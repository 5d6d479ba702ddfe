"""A cache of the bytes that accesses touch."""

from __future__ import annotations

from usmp.analysis.memory.distances.accessed_bytes import accessed_bytes
from usmp.analysis.memory.indices.index_values import Bindings, NotKnown, Values
from usmp.analysis.memory.traced_access import TracedAccess

AccessedBytes = tuple[Values, Values] | None
"""A result of `accessed_bytes`; None if the bytes are unknown."""

_MOST_OF_ONE = 1 << 12
"""Most values of one access in the cache."""

_MOST_OF_ALL = 1 << 21
"""Most values in the cache; a value takes 8 bytes in each of two arrays."""


class KeptBytes:
    """A bounded cache of `accessed_bytes`, which drops the oldest entries first."""

    def __init__(self) -> None:
        self._found: dict[tuple[TracedAccess, int], AccessedBytes] = {}
        self._values = 0

    def of(self, access: TracedAccess, bound: Bindings, common: int) -> AccessedBytes:
        """Return `accessed_bytes` of these arguments, from the cache if possible."""
        key = access, common
        if key in self._found:
            return self._found[key]
        try:
            touched = accessed_bytes(access, bound, common)
        except NotKnown:
            touched = None
        if values_of(touched) <= _MOST_OF_ONE:
            self._found[key] = touched
            self._values += values_of(touched)
            while self._values > _MOST_OF_ALL:
                self._values -= values_of(self._found.pop(next(iter(self._found))))
        return touched


def values_of(found: AccessedBytes) -> int:
    """Return the number of values of each of the two arrays; at least 1."""
    return 1 if found is None else max(found[0].size, 1)
