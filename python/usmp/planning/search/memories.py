"""Modules without the planner's attributes, so that builds for other memories share them."""

from __future__ import annotations

from typing import Any

from tvm.ir import IRModule

from usmp.objects.arguments.executor import executor_of
from usmp.objects.attributes.attribute import Attribute
from usmp.objects.attributes.module_attributes import (
    EXECUTOR_ATTR,
    EXTENDS_STATES_ATTR,
    FIXED_CHOICES_ATTR,
    IO_MEMORY_POOL_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)

_OF_PLANNING: tuple[Attribute[Any], ...] = (
    WORKSPACE_MEMORY_POOLS_ATTR,
    IO_MEMORY_POOL_ATTR,
    EXECUTOR_ATTR,
    EXTENDS_STATES_ATTR,
    FIXED_CHOICES_ATTR,
)
"""Attributes of planning. Rewrites of Relax read none of them, except for a packed interface."""


def without_memories(mod: IRModule) -> IRModule:
    """Return a module without the attributes of planning."""
    # Keep the attribute of a packed interface, because passes read it.
    is_packed = EXECUTOR_ATTR.is_on(mod) and executor_of(mod).is_packed
    for attribute in _OF_PLANNING:
        if not (attribute is EXECUTOR_ATTR and is_packed):
            mod = attribute.removed(mod)
    return mod


def with_memories(made: IRModule, mod: IRModule) -> IRModule:
    """Return a module with the attributes of planning of another one, unless it has its own."""
    for attribute in _OF_PLANNING:
        if attribute.is_on(mod) and not attribute.is_on(made):
            made = attribute.moved(made, mod)
    return made
