"""The memory pools of a module that the user named, whether the plan uses them or not."""

from __future__ import annotations

from tvm.ir import IRModule

from usmp.objects.attributes import (
    BOARD_POOLS_ATTR,
    CONSTANT_MEMORY_POOLS_ATTR,
    STATE_MEMORY_POOL_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.objects.pools import PoolInfo


def named_pools(mod: IRModule) -> list[PoolInfo]:
    """Return the pools that the user named: workspace pools, constant pools, that of the states.

    A board's own pools are none of them.
    """
    attrs = mod.attrs or {}
    lists = [
        attrs[a] for a in (WORKSPACE_MEMORY_POOLS_ATTR, CONSTANT_MEMORY_POOLS_ATTR) if a in attrs
    ]
    pools = [pool for listed in lists for pool in listed.pools]
    if STATE_MEMORY_POOL_ATTR in attrs:
        pools.append(attrs[STATE_MEMORY_POOL_ATTR])
    of_board = set(map(str, attrs.get(BOARD_POOLS_ATTR, ())))
    by_name = {str(pool.pool_name): pool for pool in pools}
    return [pool for name, pool in by_name.items() if name not in of_board]
