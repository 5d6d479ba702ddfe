"""The base of objects that no copy can stand for, as libraries that are loaded."""

from __future__ import annotations

from typing import ClassVar, NoReturn


class InProcess:
    """An object of this process alone; pickling or copying it is refused."""

    _holds: ClassVar[str] = "a library that is loaded into this process"
    _instead: ClassVar[str]
    """What to do, as the message says it."""

    def __reduce__(self) -> NoReturn:
        """Refuse.

        Raises
        ------
        TypeError
            always.
        """
        raise TypeError(
            f"{type(self).__name__} holds {self._holds}, and cannot be pickled or copied; "
            f"{self._instead}"
        )
