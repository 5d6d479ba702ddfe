"""The base of objects that a copy cannot stand for, as a library that is loaded."""

from __future__ import annotations

from typing import ClassVar, NoReturn


class InProcess:
    """An object of this process alone; pickling or copying it is refused.

    Attributes
    ----------
    instead
        what to do, as the message says it.
    """

    instead: ClassVar[str]

    def __reduce__(self) -> NoReturn:
        """Refuse.

        Raises
        ------
        TypeError
            always.
        """
        raise TypeError(
            f"{type(self).__name__} holds a library that is loaded into this process, and cannot "
            f"be pickled or copied; {self.instead}"
        )
