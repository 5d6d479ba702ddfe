"""The keys by which a planning session remembers what it has made for a module."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace

from tvm.ir import IRModule

from usmp.names import BOUND, RAM
from usmp.objects.attributes import (
    CONSTANT_MEMORY_POOLS_ATTR,
    EXECUTOR_ATTR,
    IO_MEMORY_POOL_ATTR,
    STATE_LAYOUT_ATTR,
    STATE_MEMORY_POOL_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.objects.entries import concurrent_entries, entries_of
from usmp.planning.options import PlanningOptions
from usmp.tir.identity import identity

PLAN_ATTRIBUTES = (
    WORKSPACE_MEMORY_POOLS_ATTR,
    CONSTANT_MEMORY_POOLS_ATTR,
    STATE_MEMORY_POOL_ATTR,
    IO_MEMORY_POOL_ATTR,
    STATE_LAYOUT_ATTR,
    EXECUTOR_ATTR,
)
"""The attributes of a module that its plan depends on."""


def module_key(mod: IRModule) -> Hashable:
    """Return the key of a module: its PrimFuncs, by their addresses, and what else plans depend
    on."""
    functions = sorted((str(v.name_hint), identity(f)) for v, f in mod.functions.items())
    return tuple(functions), attributes_key(mod)


def attributes_key(mod: IRModule, names: Iterable[str] = PLAN_ATTRIBUTES) -> Hashable:
    """Return the key of some attributes of a module, and of its entries."""
    attributes = (mod.attrs.get(name) if mod.attrs else None for name in names)
    entries = tuple(entries_of(mod)), tuple(sorted(map(sorted, concurrent_entries(mod))))
    return tuple(map(identity, attributes)), repr(entries)


def plan_key(options: PlanningOptions) -> PlanningOptions:
    """Return the options without those that apply before or after there is a plan."""
    return replace(
        options,
        use_workspace_io=False,
        order_operators=True,
        streaming=False,
        stream_inputs=(),
        stream_outputs=(),
        max_extra_macs=0.0,
        dynamic=BOUND,
        optimize=RAM,
        poison_dead_bytes=False,
        verify_kernels=False,
        profile=False,
    )


def need_key(options: PlanningOptions) -> Hashable:
    """Return the key of the lower bound `least_need`, which only these options change."""
    has_rows = options.streams_io or bool(options.hops)
    return "least need", options.use_workspace_io, has_rows
