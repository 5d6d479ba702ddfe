"""Where in a memory a plan begins, and what its buffers are aligned to."""

from __future__ import annotations

from collections.abc import Iterable

from usmp.objects.executor import DEFAULT_BYTE_ALIGNMENT
from usmp.objects.pools import PoolInfo

ANY_ADDRESS_MACRO = "TVMGEN_ANY_POOL_ADDRESS"
"""The macro with which a program may have pools elsewhere, as on a host; they are aligned alike."""


def line_bytes(pools: Iterable[PoolInfo]) -> int:
    """Return the bytes at whose multiples a buffer starts and ends, whichever pool holds it.

    This is the largest `alignment` of its candidate pools; 1 if none has one.
    """
    return max((int(pool.alignment) for pool in pools), default=0) or 1


def rounded_up(size_bytes: int, line: int) -> int:
    """Return the bytes of all lines that so many bytes begin."""
    return -(-size_bytes // line) * line


def first_byte(pool: PoolInfo, alignment: int) -> int:
    """Return the byte of a memory, counted from its first one, at which the plan begins.

    It is the first one behind the bytes of others whose address is aligned. A memory whose address
    is not known begins at an aligned address.

    Parameters
    ----------
    pool
        the memory.
    alignment
        of the buffers in it, in bytes, a power of two; a pool has that of the executor's default
        at least.
    """
    address = max(int(pool.address), 0)
    least = max(alignment, DEFAULT_BYTE_ALIGNMENT)
    return rounded_up(address + int(pool.pool_offset), least) - address


def planned_limit(pool: PoolInfo, alignment: int) -> int | None:
    """Return the bytes that a plan may take of a pool; None if it has no size hint.

    The hint counts from `pool_offset` on, so that what is skipped up to an aligned address is no
    part of the plan.
    """
    hint = int(pool.size_hint_bytes)
    if hint < 0:
        return None
    return max(hint - skipped_bytes(pool, alignment), 0)


def skipped_bytes(pool: PoolInfo, alignment: int) -> int:
    """Return the bytes between those of others and the plan, which nobody uses."""
    return first_byte(pool, alignment) - int(pool.pool_offset)
