"""The recorded memory of one device."""

from __future__ import annotations

from dataclasses import dataclass

from usmp_solver.formats.allocation_history import Lifetime
from usmp_solver.formats.pytorch_data import Record
from usmp_solver.live_bytes import most_live_bytes

_MOST_EVENTS = 20_000_000
_LEAST_BYTES = 8
"""Lower bound of the bytes that an event, with its address, size and keys, takes in a file."""


def check_events(recording: Record, count: int) -> None:
    """Refuse more events, segments and blocks than the file can contain.

    A pickle may refer to one list or dict many times.

    Raises
    ------
    ValueError
        There are more than 20 million, or more than one for every 8 bytes of the file.
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
    """The recorded memory of one device.

    Parameters
    ----------
    name
        name, such as "device0".
    lifetimes
        its blocks, with sizes as in the file.
    reserved_bytes
        most bytes that its allocator had from the system at one time; None if unknown.
    """

    name: str
    lifetimes: tuple[Lifetime, ...]
    reserved_bytes: int | None

    @property
    def live_bytes(self) -> int:
        """The recorded memory pressure in bytes."""
        return most_live_bytes((life.size, [(life.start, life.stop)]) for life in self.lifetimes)

    def summary(self) -> str:
        """Return a one-line summary."""
        text = f"{self.name}, as recorded: at most {self.live_bytes} bytes were live"
        if self.reserved_bytes is not None:
            text += f", and {self.reserved_bytes} reserved"
        return text
