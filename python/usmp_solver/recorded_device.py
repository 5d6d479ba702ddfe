"""What a recording says of the memory of one device."""

from __future__ import annotations

from dataclasses import dataclass

from usmp_solver.allocation_history import Lifetime
from usmp_solver.live_bytes import most_live_bytes

MOST_EVENTS = 20_000_000
"""That are read of one file: one list may be in it in many places."""


@dataclass(frozen=True)
class RecordedDevice:
    """What a recording says of the memory of one device.

    Parameters
    ----------
    name
        as "device0".
    lifetimes
        of its blocks, with the bytes as they are in the file.
    reserved_bytes
        the most that its allocator had from the system at one time; None if that is not known.
    """

    name: str
    lifetimes: tuple[Lifetime, ...]
    reserved_bytes: int | None

    @property
    def live_bytes(self) -> int:
        """The most that were live at one time."""
        return most_live_bytes((life.size, [(life.start, life.stop)]) for life in self.lifetimes)

    def summary(self) -> str:
        """A line about it."""
        text = f"{self.name}, as recorded: at most {self.live_bytes} bytes were live"
        if self.reserved_bytes is not None:
            text += f", and {self.reserved_bytes} reserved"
        return text
