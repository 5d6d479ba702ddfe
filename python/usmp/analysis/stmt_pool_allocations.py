"""Conversion of an analysis into the input of an algorithm, and of the plan back to statements.

RFC 0009 of apache/tvm-rfcs, "Step 3" and "Step 5"; the names are TVM's.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from hashlib import sha256

from tvm import tirx

from usmp.objects import BufferInfo, ConstantPoolInfo, PoolAllocation
from usmp.objects.attributes.annotations import CONSTANT_DATA_ATTR, STATE_TENSOR_ATTR


def create_array_buffer_info(
    buffer_info_stmts: Mapping[BufferInfo, tirx.AllocBuffer],
) -> list[BufferInfo]:
    """Return the buffers that an algorithm has to place, in program order.

    Constants with equal content, and allocations of one state in several entries, are stored once:
    only the first is returned.

    Parameters
    ----------
    buffer_info_stmts
        the allocation of each buffer, as in `BufferInfoAnalysis`.
    """
    return list(dict.fromkeys(_stored_as(buffer_info_stmts).values()))


def assign_stmt_pool_allocations(
    buffer_info_stmts: Mapping[BufferInfo, tirx.AllocBuffer],
    buffer_pool_allocations: Mapping[BufferInfo, PoolAllocation],
) -> dict[tirx.AllocBuffer, PoolAllocation]:
    """Return pool and offset of each AllocBuffer.

    A buffer that the algorithm did not place has the place of the first buffer of equal content.

    Parameters
    ----------
    buffer_info_stmts
        the allocation of each buffer, as in `BufferInfoAnalysis`.
    buffer_pool_allocations
        the plan of the algorithm.

    Raises
    ------
    ValueError
        a buffer that is not placed.
    """
    stored_as = _stored_as(buffer_info_stmts)
    allocations: dict[tirx.AllocBuffer, PoolAllocation] = {}
    for info, stmt in buffer_info_stmts.items():
        allocation = buffer_pool_allocations.get(info, buffer_pool_allocations.get(stored_as[info]))
        if allocation is None:
            raise ValueError(f'buffer "{info.name_hint}" has no allocation')
        allocations[stmt] = allocation
    return allocations


def identical_constants(
    buffer_info_stmts: Mapping[BufferInfo, tirx.AllocBuffer],
) -> dict[BufferInfo, list[BufferInfo]]:
    """Return each constant that is stored for equal constants too, with these constants."""
    stored = stored_for_others(buffer_info_stmts)
    return {info: others for info, others in stored.items() if is_constant_info(info)}


def stored_for_others(
    buffer_info_stmts: Mapping[BufferInfo, tirx.AllocBuffer],
) -> dict[BufferInfo, list[BufferInfo]]:
    """Return each constant or state that is stored for other buffers too, with these buffers."""
    others: dict[BufferInfo, list[BufferInfo]] = {}
    for info, stored in _stored_as(buffer_info_stmts).items():
        if info != stored:
            others.setdefault(stored, []).append(info)
    return others


def is_constant_info(info: BufferInfo) -> bool:
    """Return whether a buffer is a constant: all of its candidate pools are constant pools."""
    return all(isinstance(pool, ConstantPoolInfo) for pool in info.pool_candidates)


def _stored_as(
    buffer_info_stmts: Mapping[BufferInfo, tirx.AllocBuffer],
) -> dict[BufferInfo, BufferInfo]:
    """Return for each buffer the first buffer with equal content, often itself."""
    first: dict[Hashable, BufferInfo] = {}
    return {
        info: first.setdefault(_content(info, stmt), info)
        for info, stmt in buffer_info_stmts.items()
    }


def _content(info: BufferInfo, stmt: tirx.AllocBuffer) -> Hashable:
    """Return a key that is equal for constants that can be stored once, or for one state."""
    state = STATE_TENSOR_ATTR.of(stmt)
    if state is not None:
        return "state", state
    data = CONSTANT_DATA_ATTR.of(stmt)
    if data is None:
        return info
    pools = tuple(str(pool.pool_name) for pool in info.pool_candidates)
    # A digest, because the bytes of all constants as keys would double their memory.
    digest = sha256(data.numpy().tobytes()).digest()
    return (str(data.dtype), info.size_bytes, digest, pools, info.alignment, info.fixed_offset)
