"""Modules without what only the planner reads, so that builds for other memories share them."""

from __future__ import annotations

from collections.abc import Callable

from tvm.ir import IRModule

from usmp.objects.attributes import (
    EXECUTOR_ATTR,
    EXTENDS_STATES_ATTR,
    FIXED_CHOICES_ATTR,
    IO_MEMORY_POOL_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.objects.executor import executor_of

_OF_PLANNING = (
    WORKSPACE_MEMORY_POOLS_ATTR,
    IO_MEMORY_POOL_ATTR,
    EXECUTOR_ATTR,
    EXTENDS_STATES_ATTR,
    FIXED_CHOICES_ATTR,
)
"""Attributes that no rewrite of Relax reads."""


def apart_from_memories(mod: IRModule, rewrite: Callable[[IRModule], IRModule]) -> IRModule:
    """Return a module, rewritten without the attributes of planning, with these attributes.

    Parameters
    ----------
    rewrite
        gets the module without them; those that it adds stay.
    """
    kept = {name: mod.attrs[name] for name in _OF_PLANNING if name in (mod.attrs or {})}
    if EXECUTOR_ATTR in kept and executor_of(mod).is_packed:
        # Passes ask whether the interface is packed.
        del kept[EXECUTOR_ATTR]
    for name in kept:
        mod = mod.without_attr(name)
    made = rewrite(mod)
    for name, value in kept.items():
        if name not in (made.attrs or {}):
            made = made.with_attr(name, value)
    return made
