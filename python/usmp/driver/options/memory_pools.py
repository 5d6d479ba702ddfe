"""The memory pools of `tvmc compile` and `tvmc plan`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from usmp.driver.errors import UsageError
from usmp.driver.options.pool_flags import (
    CONSTANT,
    STATE_POOL,
    WORKSPACE,
    add_key_flags,
    add_pool_flags,
    add_pools_of_buffers,
    pool_settings,
    state_pool_settings,
)
from usmp.support.text.plain_text import shown

if TYPE_CHECKING:
    from usmp import AOTExecutorFactoryModule
    from usmp.objects import ConstantMemoryPools, WorkspaceMemoryPools, WorkspacePoolInfo
    from usmp.objects.target.targets import BuildTargets


def add_pool_options(
    parser: argparse.ArgumentParser, group: argparse._ArgumentGroup | None = None
) -> None:
    """Add the flags of workspace and constant pools to a group, a new one by default, and a group
    for each kind with a flag for each key."""
    group = group or parser.add_argument_group("memory")
    for kind in (WORKSPACE, CONSTANT):
        add_pool_flags(group, kind)
        add_key_flags(parser, kind)
    add_pools_of_buffers(group)


def memory_pools(
    options: argparse.Namespace, targets: BuildTargets
) -> tuple[WorkspaceMemoryPools | None, ConstantMemoryPools | None]:
    """Return the workspace pools and the constant pools of the options; None for unset ones.

    Raises
    ------
    UsageError
        a flag is malformed, or two pools have the same name.
    """
    from usmp.driver.options.pool_settings import constant_pool, workspace_pool
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


def state_pool(
    options: argparse.Namespace, targets: BuildTargets
) -> WorkspacePoolInfo | str | None:
    """Return the pool of `--state-pool`, its name if it is a workspace pool or has no settings, or
    None without the option.

    Raises
    ------
    UsageError
        a flag is malformed, or the pool is a constant pool.
    """
    from usmp.driver.options.pool_settings import workspace_pool

    named = state_pool_settings(options)
    if named is None:
        return None
    name, settings = named
    if name in pool_settings(options, CONSTANT):
        raise UsageError(
            f"{STATE_POOL}={name}: that is a constant pool, which nothing can be written to; "
            "name another pool"
        )
    if not settings or name in pool_settings(options, WORKSPACE):
        return name
    return workspace_pool(name, settings, targets)


def listed_targets(options: argparse.Namespace) -> set[str]:
    """Return the names of targets that the flags of pools list."""
    pools = [s for kind in (WORKSPACE, CONSTANT) for s in pool_settings(options, kind).values()]
    states = state_pool_settings(options)
    if states is not None:
        pools.append(states[1])
    texts = [settings["target"].text for settings in pools if "target" in settings]
    return {part.partition(":")[0].strip() for text in texts for part in text.split(",")}


def note_missing_sizes(options: argparse.Namespace, factory: AOTExecutorFactoryModule) -> list[str]:
    """Return a note for each pool that has a target but no size while later pools stay empty.

    The user probably forgot quotes: a shell ends the command at a ";" before the size.
    """
    empty = [pool.name for pool in factory.interface.pools if pool.is_empty]
    notes = []
    for kind in (WORKSPACE, CONSTANT):
        pools = list(pool_settings(options, kind).items())
        for index, (name, settings) in enumerate(pools):
            after = [other for other, _ in pools[index + 1 :] if other in empty]
            if list(settings) == ["target"] and settings["target"].written.startswith("target="):
                notes += [
                    f"pool {name} has no size, so nothing is left for pool {other}; if you "
                    f'gave one, write it in quotes, as {kind.rfc_pool}{name}="target=c;size=64K"'
                    for other in after[:1]
                ]
    return notes


def empty_pool_sentences(factory: AOTExecutorFactoryModule) -> list[str]:
    """Return a sentence for each of the user's pools that stays empty."""
    return [
        f"Pool {shown(pool.name)} stays empty: its size is 0"
        f"{'' if pool.is_internal else ', and its address may be NULL'}."
        for pool in factory.interface.pools
        if pool.is_empty
    ]
