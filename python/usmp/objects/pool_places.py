"""The place of a plan in its memory: first byte, most bytes, and alignment of buffers.

The first byte is chosen before buffers have pools, so it suits all buffers that *may* lie in the
pool. The solver's limits, the check of plans (``src/usmp/judged_columns.cc``, without shared code)
and the emitted code follow this rule, so that a plan within the limits fits the code.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import lcm

from usmp.objects.arguments.executor import DEFAULT_BYTE_ALIGNMENT
from usmp.objects.pools import PoolInfo


def line_bytes(pools: Iterable[PoolInfo]) -> int:
    """Return the line size of a buffer, whose start and end must be multiples of it, in bytes.

    This is the largest `alignment` of its candidate pools; 1 if none has one.
    """
    return max((int(pool.alignment) for pool in pools), default=0) or 1


def rounded_up(size_bytes: int, line: int) -> int:
    """Return a size rounded up to whole lines, in bytes."""
    return -(-size_bytes // line) * line


def has_place(pool: PoolInfo) -> bool:
    """Return whether a pool has a `pool_offset`, or a known address other than 0."""
    return int(pool.pool_offset) > 0 or int(pool.address) > 0


def first_byte(pool: PoolInfo, alignment: int) -> int:
    """Return the offset in a memory at which the plan begins, in bytes.

    This is the first aligned address behind the `pool_offset` bytes of others. A memory of unknown
    address is assumed to begin at an aligned address.

    Parameters
    ----------
    pool
        the memory.
    alignment
        in bytes, a multiple of the alignment of each buffer that may lie there. The plan is also
        aligned to the executor's default and to the pool's alignment.
    """
    multiple = lcm(alignment, DEFAULT_BYTE_ALIGNMENT, line_bytes([pool]))
    address = max(int(pool.address), 0)
    return rounded_up(address + int(pool.pool_offset), multiple) - address


def skipped_bytes(pool: PoolInfo, alignment: int) -> int:
    """Return the unused bytes between `pool_offset` and the plan; parameters as in `first_byte`."""
    return first_byte(pool, alignment) - int(pool.pool_offset)


def planned_limit(pool: PoolInfo, alignment: int) -> int | None:
    """Return the most bytes that a plan may take of a pool; None if it has no size hint.

    The hinted bytes begin at `pool_offset`, so the skipped bytes are subtracted. The parameters are
    those of `first_byte`.
    """
    hint = int(pool.size_hint_bytes)
    return None if hint < 0 else max(hint - skipped_bytes(pool, alignment), 0)
