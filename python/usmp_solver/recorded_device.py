"""What a recording says of the memory of one device."""

from __future__ import annotations

from dataclasses import dataclass

from usmp_solver.allocation_history import Lifetime
from usmp_solver.live_bytes import most_live_bytes
from usmp_solver.pytorch_data import Record

_MOST_EVENTS = 20_000_000
_LEAST_BYTES = 8
"""Of an event in a file: fewer than its address, size and their keys take."""


def check_events(recording: Record, count: int) -> None:
    """Refuse a recording with more events, segments and blocks than its file can have: a pickle
    may have one list or dict in many places.

    Raises
    ------
    ValueError
        There are more than 20 million, or than one for each 8 bytes of the file.
    """
    if count > _MOST_EVENTS:
        recording.refuse(f"has {count} events and blocks; at most {_MOST_EVENTS} are read")
    most = recording.file_bytes // _LEAST_BYTES
    if count > most:
        recording.refuse(
            f"repeats its lists: it has {count} events and blocks, and a file of "
            f"{recording.file_bytes} bytes has space for {most}; write each event once"
        )


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
