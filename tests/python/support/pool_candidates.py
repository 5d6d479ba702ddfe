"""The candidate pools that AssignPoolInfo gives, by name of the allocation."""

from __future__ import annotations

import tvm_ffi
from tvm import tirx

from usmp.objects import ConstantMemoryPools, WorkspaceMemoryPools
from usmp.objects.attributes.module_attributes import (
    CONSTANT_MEMORY_POOLS_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)


def with_pools(mod, workspace=(), constant=()):
    attrs = {}
    if workspace:
        attrs[WORKSPACE_MEMORY_POOLS_ATTR.name] = WorkspaceMemoryPools(workspace)
    if constant:
        attrs[CONSTANT_MEMORY_POOLS_ATTR.name] = ConstantMemoryPools(constant)
    return mod.with_attrs(attrs)


def allocations(mod):
    found = {}

    def on_allocation(stmt):
        found[stmt.buffer.name] = stmt

    for func in mod.functions.values():
        tvm_ffi.structural_walk(func.body, (tirx.AllocBuffer, on_allocation))
    return found


def candidates(mod):
    return {
        name: [pool.pool_name for pool in stmt.annotations["candidate_memory_pools"]]
        for name, stmt in allocations(mod).items()
        if "candidate_memory_pools" in stmt.annotations
    }


def first_line(error):
    """The message without the source that TVM shows below it."""
    return str(error.value).partition("\n")[0]
