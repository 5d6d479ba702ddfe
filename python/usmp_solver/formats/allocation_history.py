"""Conversion of allocations and frees, in order, to buffers with live ranges."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Lifetime:
    """A block from its allocation to its release.

    Parameters
    ----------
    name
        unique in its history.
    pool
        name of the memory that contains it.
    size
        bytes.
    start, stop
        half-open live range, in events of the history.
    origin
        position in the file, such as "event 12".
    """

    name: str
    pool: str
    size: int
    start: int
    stop: int
    origin: str


class AllocationHistory:
    """The allocations and frees of a device, in order.

    A recording may begin late, end early or lack kinds of events. So blocks are assumed live unless
    the recording excludes it. A block without a recorded allocation is live from the last release
    of its address, or else from the beginning. A block without a recorded release is live until its
    address is allocated again, or else to the end.

    Parameters
    ----------
    end
        time after all events, which start at 0.
    prefix
        prefix of the block names.
    """

    def __init__(self, end: int, prefix: str = "") -> None:
        self._end = end
        self._prefix = prefix
        self._held = 0
        self._done: list[Lifetime] = []
        self._live: dict[int, Lifetime] = {}
        self._free_since: dict[int, int] = {}

    def allocate(self, event: int, pool: str, address: int, size: int) -> None:
        """Record that a block is allocated."""
        self._free(address, event)
        self._begin(f"alloc{event}", pool, f"event {event}", address, size, event)

    def release(self, event: int, pool: str, address: int, size: int) -> None:
        """Record that other blocks may use the bytes of the block from now on."""
        if address not in self._live:
            start = self._free_since.get(address, 0)
            self._begin(f"freed{event}", pool, f"event {event}", address, size, start)
        self._free(address, event)

    def hold(self, pool: str, origin: str, address: int, size: int) -> None:
        """Record that a block is in use after the last event."""
        if address not in self._live:
            start = self._free_since.get(address, 0)
            self._begin(f"held{self._held}", pool, origin, address, size, start)
            self._held += 1

    def lifetimes(self) -> list[Lifetime]:
        """Return all blocks in order of start. Call it once, at the end."""
        for address in list(self._live):
            self._free(address, self._end)
        return sorted(self._done, key=lambda life: life.start)

    def _begin(
        self, name: str, pool: str, origin: str, address: int, size: int, start: int
    ) -> None:
        self._live[address] = Lifetime(self._prefix + name, pool, size, start, self._end, origin)

    def _free(self, address: int, time: int) -> None:
        life = self._live.pop(address, None)
        # Drop empty live ranges, such as that of a block that the first event releases.
        if life is not None and life.start < time:
            self._done.append(replace(life, stop=time))
        self._free_since[address] = time
