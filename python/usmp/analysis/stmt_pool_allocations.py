"""From the analysis to an algorithm, and from its answer back to the statements.

RFC 0009, "Step 3" and "Step 5"; the names are TVM's.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from hashlib import sha256

from tvm import tirx

from usmp.objects import BufferInfo, ConstantPoolInfo, PoolAllocation
from usmp.objects.annotations import CONSTANT_DATA_ATTR, STATE_TENSOR_ATTR


def create_array_buffer_info(
    buffer_info_stmts: Mapping[BufferInfo, tirx.AllocBuffer],
) -> list[BufferInfo]:
    """The buffers that an algorithm has to place, in program order.

    These are all buffers, but of constants with the same content, and of the allocations of one
    state in several entries, only the first: it is stored once.

    Parameters
    ----------
    buffer_info_stmts
        as in `BufferInfoAnalysis`.
    """
    return list(dict.fromkeys(_stored_as(buffer_info_stmts).values()))


def assign_stmt_pool_allocations(
    buffer_info_stmts: Mapping[BufferInfo, tirx.AllocBuffer],
    buffer_pool_allocations: Mapping[BufferInfo, PoolAllocation],
) -> dict[tirx.AllocBuffer, PoolAllocation]:
    """Pool and offset of each AllocBuffer; a constant that has none of its own has those of the
    first constant with the same content.

    Parameters
    ----------
    buffer_info_stmts
        as in `BufferInfoAnalysis`.
    buffer_pool_allocations
        what the algorithm returned.

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
    """Each constant that is stored for others too, with these."""
    stored = stored_for_others(buffer_info_stmts)
    return {info: others for info, others in stored.items() if is_constant_info(info)}


def stored_for_others(
    buffer_info_stmts: Mapping[BufferInfo, tirx.AllocBuffer],
) -> dict[BufferInfo, list[BufferInfo]]:
    """Each constant that is stored for others too, and each state that several entries allocate,
    with these."""
    others: dict[BufferInfo, list[BufferInfo]] = {}
    for info, stored in _stored_as(buffer_info_stmts).items():
        if info != stored:
            others.setdefault(stored, []).append(info)
    return others


def is_constant_info(info: BufferInfo) -> bool:
    """Whether the buffer is read-only."""
    return all(isinstance(pool, ConstantPoolInfo) for pool in info.pool_candidates)


def _stored_as(
    buffer_info_stmts: Mapping[BufferInfo, tirx.AllocBuffer],
) -> dict[BufferInfo, BufferInfo]:
    """For each buffer the one whose bytes it uses: for most, itself."""
    first: dict[Hashable, BufferInfo] = {}
    return {
        info: first.setdefault(_content(info, stmt), info)
        for info, stmt in buffer_info_stmts.items()
    }


def _content(info: BufferInfo, stmt: tirx.AllocBuffer) -> Hashable:
    """Equal for two constants that may be stored once, and for two allocations of one state."""
    state = STATE_TENSOR_ATTR.of(stmt)
    if state is not None:
        return "state", state
    data = CONSTANT_DATA_ATTR.of(stmt)
    if data is None:
        return info
    pools = tuple(str(pool.pool_name) for pool in info.pool_candidates)
    digest = sha256(data.numpy().tobytes()).digest()  # not the bytes: models have megabytes
    return (str(data.dtype), info.size_bytes, digest, pools, info.alignment, info.fixed_offset)
