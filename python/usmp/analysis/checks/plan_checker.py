"""An independent check of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import lcm
from typing import Any, TypeAlias

from usmp import _ffi_api
from usmp.objects import AllocatedPoolInfo, BufferInfo, PlacedBuffer, PoolAllocation, PoolInfo
from usmp.objects.buffer_problem import columns_of
from usmp.objects.pool_places import skipped_bytes
from usmp_solver.check import Fault, judge

_INT64_MAX = (1 << 63) - 1

Relations: TypeAlias = Sequence[Any]
"""A copy of the conflicts and safe overlaps of each buffer, as `relations_of` returns it."""


def check_plan(buffers: Iterable[BufferInfo], plan: Mapping[BufferInfo, PoolAllocation]) -> None:
    """Check that the plan is sound, whatever algorithm made it.

    In a sound plan every buffer has an allocation in one of its candidate pools, at a non-negative
    multiple of the alignments of the buffer and of the pool. The buffer ends within the size hint,
    less the bytes before the first address that suits all buffers of the pool. Two buffers share a
    byte only if they neither conflict nor are live together, or if one starts below the other by at
    least the distance of its safe overlap. An empty buffer shares no byte. Neither the check nor
    the code of its columns (``src/usmp/judged_columns.cc``) shares code with the algorithms, so a
    mistake would have to be made twice to pass.

    Parameters
    ----------
    buffers
        The buffers that the plan must place.
    plan
        Allocation of each buffer; allocations of other buffers are ignored.

    Raises
    ------
    ValueError
        The plan is not sound; the message names the buffers, the pool and the bytes.
    """
    buffers = list(buffers)
    fault = judge(columns_of(_ffi_api.judged_columns(buffers, plan)))
    if fault is not None:
        describe = _describe_one if fault.second < 0 else _describe_pair
        raise ValueError(f"USMP plan check: {describe(buffers, plan, fault)}")


def _describe_one(
    buffers: Sequence[BufferInfo], plan: Mapping[BufferInfo, PoolAllocation], fault: Fault
) -> str:
    buffer = buffers[fault.first]
    offset, name = int(plan[buffer].byte_offset), str(plan[buffer].pool_info.pool_name)
    end = offset + int(buffer.size_bytes)
    if fault.reason == "limit" and end > _INT64_MAX:
        reason = "ends beyond the largest 64-bit offset"
    elif fault.reason == "limit":
        pool = next(p for p in buffer.pool_candidates if str(p.pool_name) == name)
        hint, unused = int(pool.size_hint_bytes), _unused_bytes(buffers, pool)
        reason = f"ends at byte {end}, but the size hint of the pool is {hint} bytes"
        reason += f", {unused} of them before offset 0" if unused else ""
    else:
        reason = {
            "pool": "is in a pool that is not one of its candidates",
            "negative": "starts before the pool",
            "alignment": "is not aligned",
            "pin": f"is pinned to offset {buffer.fixed_offset}",
        }[fault.reason]
    return (
        f'buffer "{buffer.name_hint}" ({buffer.size_bytes} bytes, alignment {buffer.alignment}) at '
        f'offset {offset} of pool "{name}" {reason}'
    )


def _unused_bytes(buffers: Sequence[BufferInfo], pool: PoolInfo) -> int:
    """Return the bytes of a pool before the first address that is aligned for all its buffers."""
    name = str(pool.pool_name)
    suits = (b for b in buffers if any(str(p.pool_name) == name for p in b.pool_candidates))
    return skipped_bytes(pool, lcm(*(int(buffer.alignment) for buffer in suits)))


def _describe_pair(
    buffers: Sequence[BufferInfo], plan: Mapping[BufferInfo, PoolAllocation], fault: Fault
) -> str:
    pair = [fault.first, fault.second]
    if fault.reason == "live":
        pair.sort(key=lambda row: (plan[buffers[row]].byte_offset, row))
    starts = [int(plan[buffers[row]].byte_offset) for row in pair]
    ends = [offset + int(buffers[row].size_bytes) for row, offset in zip(pair, starts, strict=True)]
    first, second = (
        f'"{buffers[row].name_hint}" at bytes [{start}, {end})'
        for row, start, end in zip(pair, starts, ends, strict=True)
    )
    conflict = fault.reason == "conflict"
    cause = "they conflict" if conflict else f"both are live at position {fault.time}"
    return (
        f"buffers {first} and {second} share bytes [{max(starts)}, {min(ends)}) of pool "
        f'"{plan[buffers[pair[0]]].pool_info.pool_name}", but {cause}'
    )


def check_places(
    pools: Iterable[tuple[AllocatedPoolInfo, int]], buffers: Iterable[PlacedBuffer]
) -> None:
    """Check the addresses in pools that have an alignment, an offset or an address.

    Addresses are computed anew here, so that a mistake would have to be made twice.

    Parameters
    ----------
    pools
        Each pool with the byte of its memory at which the plan begins.
    buffers
        The buffers of the plan, in these and other pools.

    Raises
    ------
    ValueError
        A plan begins before the `pool_offset` of its pool, ends behind its size hint or at an
        address that is not aligned, or has a buffer whose address is not aligned.
    """
    placed_pools = {
        str(pool.pool_info.pool_name): (pool, first)
        for pool, first in pools
        if pool.pool_info.alignment or pool.pool_info.pool_offset or pool.pool_info.address >= 0
    }
    for name, (pool, first) in placed_pools.items():
        info, end = pool.pool_info, first + int(pool.allocated_size)
        if first < info.pool_offset:
            raise ValueError(
                f'USMP plan check: pool "{name}" begins at byte {first} of its memory, but the '
                f"first {info.pool_offset} belong to others"
            )
        if 0 <= info.size_hint_bytes < end - info.pool_offset:
            raise ValueError(
                f'USMP plan check: pool "{name}" takes {end - info.pool_offset} bytes from byte '
                f"{info.pool_offset} on, but its size hint is {info.size_hint_bytes} bytes"
            )
        if info.alignment and (max(info.address, 0) + end) & (info.alignment - 1):
            raise ValueError(
                f'USMP plan check: pool "{name}" ends within a line of {info.alignment} bytes'
            )
    for buffer in buffers if placed_pools else ():
        if str(buffer.pool_name) in placed_pools:
            pool, first = placed_pools[str(buffer.pool_name)]
            address = max(int(pool.pool_info.address), 0) + first + int(buffer.byte_offset)
            if address % int(buffer.alignment):
                raise ValueError(
                    f'USMP plan check: buffer "{buffer.name}" at address {address} of pool '
                    f'"{buffer.pool_name}" is not aligned to {buffer.alignment} bytes'
                )


def relations_of(buffers: Iterable[BufferInfo]) -> Relations:
    """Return a copy of the conflicts and overlaps, the mutable fields that `check_plan` reads."""
    relations: Relations = _ffi_api.relations_of(list(buffers))
    return relations


def check_relations(buffers: Iterable[BufferInfo], relations: Relations, algorithm: str) -> None:
    """Check that an algorithm did not change the buffers' conflicts and safe overlaps.

    Parameters
    ----------
    buffers
        The buffers, in the order in which `relations_of` had them.
    relations
        The result of `relations_of` before the algorithm was called.
    algorithm
        The name of the algorithm, for the message.

    Raises
    ------
    ValueError
        A relation has changed; the message names the algorithm and the buffer.
    """
    _ffi_api.check_relations(list(buffers), relations, algorithm)
