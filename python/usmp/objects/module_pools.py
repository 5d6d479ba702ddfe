"""The memory pools of a module."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from tvm.ir import IRModule

from usmp.objects.attributes.attribute import Attribute
from usmp.objects.attributes.module_attributes import (
    BOARD_POOLS_ATTR,
    CONSTANT_MEMORY_POOLS_ATTR,
    STATE_MEMORY_POOL_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.objects.pools import ConstantMemoryPools, PoolInfo, WorkspaceMemoryPools

_Lists: TypeAlias = WorkspaceMemoryPools | ConstantMemoryPools

_KINDS: dict[Attribute[Any], type[_Lists]] = {
    WORKSPACE_MEMORY_POOLS_ATTR: WorkspaceMemoryPools,
    CONSTANT_MEMORY_POOLS_ATTR: ConstantMemoryPools,
}


def listed_pools(mod: IRModule, *attributes: Attribute[Any]) -> list[PoolInfo]:
    """Return the pools that a module lists.

    Parameters
    ----------
    attributes
        `WORKSPACE_MEMORY_POOLS_ATTR`, `CONSTANT_MEMORY_POOLS_ATTR`, or both, which is the default.

    Raises
    ------
    ValueError
        an attribute is not a list of its kind of pools.
    """
    pools: list[PoolInfo] = []
    for attribute in attributes or _KINDS:
        listed = attribute.of(mod)
        if listed is None:
            continue
        kind = _KINDS[attribute]
        if not isinstance(listed, kind):
            raise ValueError(
                f'the attribute "{attribute}" of the module must be {kind.__name__}, not {listed}'
            )
        pools.extend(listed.pools)
    return pools


def named_pools(mod: IRModule) -> list[PoolInfo]:
    """Return the workspace, constant and state pools of the user, without a board's own pools."""
    pools, of_states = listed_pools(mod), STATE_MEMORY_POOL_ATTR.of(mod)
    if of_states is not None:
        pools.append(of_states)
    of_board = set(BOARD_POOLS_ATTR.of(mod) or ())
    return [pool for pool in one_of_each_name(pools) if str(pool.pool_name) not in of_board]


def one_of_each_name(pools: Iterable[PoolInfo]) -> list[PoolInfo]:
    """Return the last pool of each name, in the order in which the names first occur."""
    return list({str(pool.pool_name): pool for pool in pools}.values())
