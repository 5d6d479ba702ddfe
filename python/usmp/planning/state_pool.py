"""The pool that holds the states of a module, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir import IRModule

from usmp.objects import PoolInfo, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.objects.attributes.module_attributes import (
    STATE_MEMORY_POOL_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.objects.module_pools import listed_pools
from usmp.objects.pools import ONLY_IO
from usmp.support.text.plain_text import shown

DEFAULT_WORKSPACE_POOL_NAME = "global_workspace"
"""Name of the pool of a module that lists no workspace pool."""


def choose_state_pool(
    given: WorkspacePoolInfo | str,
    workspace: WorkspaceMemoryPools | None,
    targets: Sequence[str],
) -> WorkspacePoolInfo:
    """Return a workspace pool by its name, or a new state pool.

    Parameters
    ----------
    given
        the pool, or the name of a workspace pool; another name makes a new pool of the application.
    workspace
        the workspace pools of the module, if it lists any.
    targets
        names of the targets that may access a new pool.

    Raises
    ------
    ValueError
        the name is empty, or see `workspace_beside`.
    """
    pools = list(workspace.pools) if workspace is not None else []
    if isinstance(given, WorkspacePoolInfo):
        pool = given
    else:
        named = (pool for pool in pools if str(pool.pool_name) == given)
        pool = next(named, None) or WorkspacePoolInfo(given, list(targets))
    workspace_beside(pool, pools)
    return pool


def state_pool_of(mod: IRModule) -> WorkspacePoolInfo | None:
    """Return the pool of the attribute `state_memory_pool`; None without it.

    Raises
    ------
    ValueError
        the attribute has another type.
    """
    pool = STATE_MEMORY_POOL_ATTR.of(mod)
    if pool is not None and not isinstance(pool, WorkspacePoolInfo):
        raise ValueError(
            f'the attribute "{STATE_MEMORY_POOL_ATTR}" of the module must be a WorkspacePoolInfo, '
            f"not {pool}"
        )
    return pool


def names_of_state_pools(mod: IRModule) -> list[str]:
    """Return the names of the pools that may hold states."""
    pool = state_pool_of(mod)
    if pool is not None:
        return [str(pool.pool_name)]
    listed = listed_pools(mod, WORKSPACE_MEMORY_POOLS_ATTR)
    if not listed:
        return [DEFAULT_WORKSPACE_POOL_NAME]
    return [str(pool.pool_name) for pool in listed if str(pool.io) != ONLY_IO]


def workspace_beside(pool: WorkspacePoolInfo, listed: Sequence[PoolInfo]) -> list[PoolInfo]:
    """Return the workspace pools for all buffers but states; empty if the module lists none.

    Parameters
    ----------
    pool
        the pool of the states.
    listed
        the module's workspace pools, which may include `pool`.

    Raises
    ------
    ValueError
        another pool has the name of `pool`, or no pool remains for other buffers.
    """
    name = str(pool.pool_name)
    others = [other for other in listed if str(other.pool_name) != name]
    if not listed and name == DEFAULT_WORKSPACE_POOL_NAME:
        raise ValueError(
            f'state pool "{name}": the workspace pool that everything else is in has this name; '
            "give the state pool another one"
        )
    if any(str(other.pool_name) == name and other != pool for other in listed):
        raise ValueError(
            f'state pool "{shown(name)}": a workspace pool of this name has other properties; '
            "give the same pool for both, or only its name as the state pool"
        )
    if listed and not others:
        raise ValueError(
            f'state pool "{shown(name)}" is the only workspace pool, and holds nothing but state; '
            "add a workspace pool for everything else"
        )
    return others
