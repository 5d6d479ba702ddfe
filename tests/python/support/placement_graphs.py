"""Buffers with conflicts by name, and where an algorithm puts them."""

from __future__ import annotations

from usmp.algorithms import get_algorithm
from usmp.objects import BufferInfo, PoolInfoProperties, WorkspacePoolInfo


def pool(name="global_workspace", size_hint_bytes=-1):
    """A workspace pool."""
    return WorkspacePoolInfo(name, ["c"], PoolInfoProperties(size_hint_bytes))


def graph(sizes, conflicts, pools=None, alignment=1):
    """Buffers by name; `conflicts` maps a name to the names, or the letters, it lists."""
    pools = pools or [pool()]
    buffers = {name: BufferInfo(name, size, pools, alignment) for name, size in sizes.items()}
    for name, others in conflicts.items():
        buffers[name].set_conflicts([buffers[other] for other in others])
    return buffers


def run(algorithm, buffers, memory_pressure=0):
    """Pool name and offset by buffer name."""
    plan = get_algorithm(algorithm)(list(buffers.values()), memory_pressure)
    assert [buffer.name_hint for buffer in plan] == list(buffers)
    return {
        buffer.name_hint: (place.pool_info.pool_name, place.byte_offset)
        for buffer, place in plan.items()
    }


def offsets(algorithm, buffers):
    """Offset by buffer name."""
    return {name: offset for name, (_, offset) in run(algorithm, buffers).items()}


def peaks(algorithm, buffers, memory_pressure=0):
    """Highest end by pool name."""
    ends = {}
    for name, (where, offset) in run(algorithm, buffers, memory_pressure).items():
        ends[where] = max(ends.get(where, 0), offset + buffers[name].size_bytes)
    return ends
