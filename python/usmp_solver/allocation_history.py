"""Allocations and frees, one after the other, to buffers with live ranges."""

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
        whose memory it is.
    size
        bytes.
    start, stop
        half-open live range, in events of the history.
    origin
        where in the file it is, as "event 12".
    """

    name: str
    pool: str
    size: int
    start: int
    stop: int
    origin: str


class AllocationHistory:
    """What happened to the memory of a device, in order.

    A recording may begin late, end early or leave out kinds of events, so blocks are taken to be
    live wherever it does not say that they are not: from the beginning, if a block is released that
    was never allocated; to the end, if it is never released; and in between, up to the event that
    shows that the address was free.

    Parameters
    ----------
    end
        time after all events, which begin at 0.
    prefix
        of the names of the blocks.
    """

    def __init__(self, end: int, prefix: str = "") -> None:
        self._end = end
        self._prefix = prefix
        self._held = 0
        self._done: list[Lifetime] = []
        self._live: dict[int, Lifetime] = {}
        self._free_since: dict[int, int] = {}

    def allocate(self, event: int, pool: str, address: int, size: int) -> None:
        """A block is allocated."""
        self._free(address, event)
        self._begin(f"alloc{event}", pool, f"event {event}", address, size, event)

    def release(self, event: int, pool: str, address: int, size: int) -> None:
        """The bytes of the block may be used for others from now on."""
        if address not in self._live:
            start = self._free_since.get(address, 0)
            self._begin(f"freed{event}", pool, f"event {event}", address, size, start)
        self._free(address, event)

    def hold(self, pool: str, origin: str, address: int, size: int) -> None:
        """A block is in use after the last event."""
        if address not in self._live:
            start = self._free_since.get(address, 0)
            self._begin(f"held{self._held}", pool, origin, address, size, start)
            self._held += 1

    def lifetimes(self) -> list[Lifetime]:
        """All blocks, in the order of their beginnings; to be called once, at the end."""
        for address in list(self._live):
            self._free(address, self._end)
        return sorted(self._done, key=lambda life: life.start)

    def _begin(
        self, name: str, pool: str, origin: str, address: int, size: int, start: int
    ) -> None:
        self._live[address] = Lifetime(self._prefix + name, pool, size, start, self._end, origin)

    def _free(self, address: int, time: int) -> None:
        life = self._live.pop(address, None)
        # What the first event releases was live at no time.
        if life is not None and life.start < time:
            self._done.append(replace(life, stop=time))
        self._free_since[address] = time
