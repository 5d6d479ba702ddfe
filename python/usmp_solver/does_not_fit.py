"""What does not fit, as data; messages for users are made of it elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from usmp_solver.buffers import Pool


@dataclass(frozen=True)
class Unplaced:
    """A buffer that fits nowhere, or not beside others.

    Parameters
    ----------
    number
        its row in the problem.
    name
        for messages.
    size
        bytes.
    alignment
        bytes of which the offset must be a multiple.
    offset
        the byte that it is pinned to; None if it is not.
    """

    number: int
    name: str
    size: int
    alignment: int
    offset: int | None


@dataclass(frozen=True)
class RefusingPool:
    """A candidate pool that the buffer did not fit into.

    Parameters
    ----------
    pool
        its name and limit.
    taken
        bytes that were taken of it; None if the algorithm did not place one buffer after
        another.
    end
        where the buffer would have ended without a limit; None if it could be nowhere, or the
        algorithm did not place one buffer after another.
    occupant, occupant_offset
        the placed buffer whose bytes a pinned one would take, and the byte
        at which it starts; None if there is none.
    """

    pool: Pool
    taken: int | None = None
    end: int | None = None
    occupant: Unplaced | None = None
    occupant_offset: int = 0


@dataclass(frozen=True)
class EnoughBytes:
    """A limit of the pool of this name with which there is a plan; the smallest if that is
    proved."""

    pool: str
    bytes: int
    is_smallest: bool


@dataclass(frozen=True)
class DoesNotFit:
    """Why there is no plan.

    Parameters
    ----------
    algorithm
        that found none.
    buffer
        a buffer that did not fit: the first, or of several that do not fit together the
        largest.
    pools
        its candidates.
    is_proved
        there is no plan within the limits.
    proved
        buffers that do not fit together, whatever else there is; empty if none are known.
    is_irreducible
        without any one of them the others fit.
    fits_without_limits
        they would fit together if no pool had a limit.
    needed
        bytes that they need at least of the only pool that may hold them; None if they have
        several, or fit nowhere.
    alone
        limits of one pool, any of which is enough.
    together
        limits that are enough together, where none is alone.
    lower_bound
        bytes that the buffers that no other pool may hold need at least of `pools` in all; None
        if no number of bytes is enough, or none is known.
    """

    algorithm: str
    buffer: Unplaced
    pools: tuple[RefusingPool, ...]
    is_proved: bool = False
    proved: tuple[Unplaced, ...] = ()
    is_irreducible: bool = False
    fits_without_limits: bool = True
    needed: int | None = None
    alone: tuple[EnoughBytes, ...] = ()
    together: tuple[EnoughBytes, ...] = ()
    lower_bound: int | None = None

    @property
    def needed_bytes(self) -> int | None:
        """Bytes that are needed of `pools` in all: the fewest with which there is a plan if
        `is_exact`, else a lower bound. None if no number of bytes is enough."""
        if self.is_exact:
            return self.alone[0].bytes
        if self.lower_bound is None or self.needed is None or len(self.pools) > 1:
            return self.lower_bound
        return max(self.lower_bound, self.needed)

    @property
    def available_bytes(self) -> int | None:
        """The limits of `pools` in all; None if one has no limit."""
        limits = [each.pool.limit for each in self.pools]
        return None if None in limits else sum(limit for limit in limits if limit is not None)

    @property
    def smallest_pool_bytes(self) -> dict[str, int]:
        """Name of a pool to a limit with which there is a plan: those of `alone`, or if there are
        none, those of `together`."""
        return {each.pool: each.bytes for each in self.alone or self.together}

    @property
    def is_exact(self) -> bool:
        """Whether `needed_bytes` is the smallest limit of the only pool with which there is a plan;
        of an algorithm that proves nothing, with which it makes one."""
        only = [each.pool.name for each in self.pools] == [each.pool for each in self.alone]
        return only and len(self.alone) == 1 and self.alone[0].is_smallest
