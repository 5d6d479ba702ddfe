"""Objects that cannot be copied, because they own a unique resource."""

from __future__ import annotations

from typing import ClassVar, NoReturn, SupportsIndex


class NotCopied:
    """The base of objects that own memory, a loaded library or a connection.

    `copy.copy`, `copy.deepcopy` and `pickle` raise `TypeError`, because the copy would share or
    lack the resource.
    """

    _owns: ClassVar[str]
    """The owned resource, for the error."""
    _instead: ClassVar[str]
    """Advice for the error: an alternative to a copy."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Raise TypeError: `copy` and `pickle` call this."""
        raise TypeError(
            f"{type(self).__name__} cannot be copied or pickled, because it owns {self._owns}; "
            f"{self._instead}"
        )
