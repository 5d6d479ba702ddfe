"""Where in a memory a plan begins, how much of it a plan may use, and what buffers align to.

A plan begins before buffers have pools, so its first byte suits all buffers that *may* lie in the
pool. The solver's limits, the judge of plans (``src/usmp/judged_columns.cc``, which shares no code)
and the emitted code keep to this rule, so that what fits the limits fits the code.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import lcm

from usmp.objects.executor import DEFAULT_BYTE_ALIGNMENT
from usmp.objects.pools import PoolInfo


def line_bytes(pools: Iterable[PoolInfo]) -> int:
    """Return the line size of a buffer: it starts and ends at multiples of so many bytes.

    This is the largest `alignment` of its candidate pools, whichever holds it; 1 if none has one.
    """
    return max((int(pool.alignment) for pool in pools), default=0) or 1


def rounded_up(size_bytes: int, line: int) -> int:
    """Return the size in bytes of the whole lines that hold so many bytes."""
    return -(-size_bytes // line) * line


def has_place(pool: PoolInfo) -> bool:
    """Return whether the user gave a pool an address or an offset."""
    return int(pool.pool_offset) > 0 or int(pool.address) > 0


def first_byte(pool: PoolInfo, alignment: int) -> int:
    """Return the byte of a memory, counted from its first one, at which the plan begins.

    It is the first one behind the bytes of others whose address is aligned. A memory whose address
    is not known begins at an aligned address.

    Parameters
    ----------
    pool
        the memory.
    alignment
        in bytes, a multiple of that of each buffer that may lie there. The plan is aligned to the
        executor's default and to the pool's alignment, too.
    """
    multiple = lcm(alignment, DEFAULT_BYTE_ALIGNMENT, line_bytes([pool]))
    address = max(int(pool.address), 0)
    return rounded_up(address + int(pool.pool_offset), multiple) - address


def skipped_bytes(pool: PoolInfo, alignment: int) -> int:
    """Return the bytes between those of others and the plan, which nobody uses.

    The parameters are those of `first_byte`.
    """
    return first_byte(pool, alignment) - int(pool.pool_offset)


def planned_limit(pool: PoolInfo, alignment: int) -> int | None:
    """Return the most bytes that a plan may take of a pool; None if it has no size hint.

    The hint counts from `pool_offset` on, so that what is skipped up to an aligned address is no
    part of the plan. The parameters are those of `first_byte`.
    """
    hint = int(pool.size_hint_bytes)
    return None if hint < 0 else max(hint - skipped_bytes(pool, alignment), 0)
