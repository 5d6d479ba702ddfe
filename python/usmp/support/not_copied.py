"""Objects that cannot be copied, because what they hold exists once."""

from __future__ import annotations

from typing import ClassVar, NoReturn, SupportsIndex


class NotCopied:
    """The base of objects that own memory, a loaded library or a connection.

    `copy.copy`, `copy.deepcopy` and `pickle` would make objects that share what they own, or that
    lack it: all of them raise `TypeError`.
    """

    _owns: ClassVar[str]
    """What an object owns, as the error names it."""
    _instead: ClassVar[str]
    """What to do in place of a copy."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Raise TypeError: `copy` and `pickle` call this."""
        raise TypeError(
            f"{type(self).__name__} cannot be copied or pickled, because it owns {self._owns}; "
            f"{self._instead}"
        )
