"""The explanation of an infeasible problem as data. Messages are built elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from usmp_solver.buffers import Pool


@dataclass(frozen=True)
class Unplaced:
    """A buffer that an explanation names.

    Parameters
    ----------
    number
        its row in the problem.
    name
        for messages.
    size
        bytes.
    alignment
        required divisor of the offset, in bytes.
    offset
        pinned offset in bytes, or None.
    """

    number: int
    name: str
    size: int
    alignment: int
    offset: int | None


@dataclass(frozen=True)
class RefusingPool:
    """A candidate pool in which the buffer has no place.

    Parameters
    ----------
    pool
        the pool, with name and limit.
    taken
        highest end of a placed buffer in bytes; None if buffers were not placed one by one.
    end
        end of the buffer, in bytes, if the pool had no limit. None if the buffer has no offset in
        the pool, or if buffers were not placed one by one.
    occupant, occupant_offset
        the placed buffer that occupies the place of a pinned buffer, and the occupant's offset in
        bytes; `occupant` is None if no buffer does.
    """

    pool: Pool
    taken: int | None = None
    end: int | None = None
    occupant: Unplaced | None = None
    occupant_offset: int = 0


@dataclass(frozen=True)
class EnoughBytes:
    """A limit in bytes with which a plan exists, and whether it is proved smallest."""

    pool: str
    bytes: int
    is_smallest: bool


@dataclass(frozen=True)
class DoesNotFit:
    """The reason why there is no plan.

    Parameters
    ----------
    algorithm
        algorithm that found no plan.
    buffer
        the first buffer without a place. If buffers are not placed in an order, the largest buffer
        that may have no place.
    pools
        candidate pools of the buffer.
    is_proved
        whether it is proved that no plan exists within the limits.
    proved
        buffers that do not fit together, even without the other buffers; empty if none are known.
    is_irreducible
        whether removing any one buffer of `proved` makes the rest fit.
    fits_without_limits
        whether `proved` would fit if no pool had a limit.
    needed
        lower bound of the bytes that `proved` needs in its only candidate pool. None if `proved`
        is empty, has several candidate pools, or does not fit even without limits.
    alone
        larger limits of single pools, any one of which suffices.
    together
        larger limits of several pools that suffice together, if no single larger limit does.
    lower_bound
        lower bound of the total bytes of `pools`, from the buffers that no other pool may hold.
        None if no number of bytes suffices, or no bound is known.
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
        """Bytes that `pools` need in total: the minimum if `is_exact`, else a lower bound.

        None if no number of bytes suffices.
        """
        if self.is_exact:
            return self.alone[0].bytes
        if self.lower_bound is None or self.needed is None or len(self.pools) > 1:
            return self.lower_bound
        return max(self.lower_bound, self.needed)

    @property
    def available_bytes(self) -> int | None:
        """The total limit of `pools` in bytes; None if one has no limit."""
        limits = [pool.pool.limit for pool in self.pools]
        return None if None in limits else sum(limit for limit in limits if limit is not None)

    @property
    def smallest_pool_bytes(self) -> dict[str, int]:
        """Sufficient limits by pool name: of `alone`, or else of `together`."""
        return {limit.pool: limit.bytes for limit in self.alone or self.together}

    @property
    def is_exact(self) -> bool:
        """Whether `pools` is one pool, and `needed_bytes` its smallest limit with a plan.

        For an algorithm without proofs, it is the smallest limit with which the algorithm succeeds.
        """
        only = [pool.pool.name for pool in self.pools] == [limit.pool for limit in self.alone]
        return only and len(self.alone) == 1 and self.alone[0].is_smallest
