"""The memory pools of `tvmc compile` and `tvmc plan`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from usmp.driver.errors import UsageError
from usmp.driver.pool_flags import CONSTANT, WORKSPACE, add_pool_flags, pool_settings
from usmp.plain_text import shown

if TYPE_CHECKING:
    from tvm.ir import IRModule

    from usmp.objects import ConstantMemoryPools, WorkspaceMemoryPools
    from usmp.objects.targets import BuildTargets


def add_pool_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of workspace and constant pools, in both spellings."""
    for kind in (WORKSPACE, CONSTANT):
        add_pool_flags(parser, kind)


def memory_pools(
    options: argparse.Namespace, targets: BuildTargets
) -> tuple[WorkspaceMemoryPools | None, ConstantMemoryPools | None]:
    """The pools that the options name, in that order; None where they name none.

    Raises
    ------
    UsageError: something in the flags is wrong, or two pools have one name.
    """
    from usmp.driver.pool_settings import constant_pool, workspace_pool
    from usmp.objects import ConstantMemoryPools, WorkspaceMemoryPools

    workspace = pool_settings(options, WORKSPACE)
    constants = pool_settings(options, CONSTANT)
    for name in workspace:
        if name in constants:
            raise UsageError(
                f'pool "{name}" is named twice, as workspace pool and as constant pool; '
                "give one of them another name"
            )
    return (
        WorkspaceMemoryPools([workspace_pool(n, s, targets) for n, s in workspace.items()])
        if workspace
        else None,
        ConstantMemoryPools([constant_pool(n, s, targets) for n, s in constants.items()])
        if constants
        else None,
    )


def print_unused_pools(module: IRModule) -> None:
    """Say which of the user's pools a planned module does without: its header lacks them."""
    from usmp.objects.attributes import (
        CONSTANT_MEMORY_POOLS_ATTR,
        POOL_ARGS_ATTR,
        WORKSPACE_MEMORY_POOLS_ATTR,
    )

    used = {str(pool.pool_info.pool_name) for pool in module.attrs[POOL_ARGS_ATTR]}
    for attribute in (WORKSPACE_MEMORY_POOLS_ATTR, CONSTANT_MEMORY_POOLS_ATTR):
        named = module.attrs.get(attribute)
        for pool in named.pools if named is not None else ():
            if str(pool.pool_name) not in used:
                print(
                    f"Pool {shown(pool.pool_name)} is not needed, so the header does not have it."
                )
