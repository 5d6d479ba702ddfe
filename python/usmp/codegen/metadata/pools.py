"""Pools in metadata.json: their buffers, the choice of pools, and the search for the plan."""

from __future__ import annotations

from typing import Any

from tvm.ir import IRModule

from usmp.analysis import PoolUsage, pool_usage
from usmp.analysis.memory.facts import module_facts
from usmp.analysis.used_overlaps import shared_bytes
from usmp.codegen.interface.entry_facts import entries_of_buffers
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.interface.pool_parameter import PoolParameter
from usmp.codegen.metadata.operators import peak_operator
from usmp.objects import BufferInfoKind, MemoryPlan, PoolBound
from usmp.objects.attributes.module_attributes import IO_MEMORY_POOL_ATTR, NOT_COMPARED_ATTR
from usmp.objects.pools import ANY_IO

_KINDS = {kind.value: kind.name.lower() for kind in BufferInfoKind}


def pools(mod: IRModule, interface: Interface, plan: MemoryPlan) -> list[dict[str, Any]]:
    """Return the pools in the order of the C interface."""
    usage = {pool.name: PoolUsage(pool.name, 0, 0, []) for pool in interface.pools}
    usage |= {use.pool_name: use for use in pool_usage(plan)}
    described = [_pool(pool, plan, usage[pool.name]) for pool in interface.pools]
    if len(interface.entries) > 1:
        facts, functions = module_facts(mod), {e.name: e.function for e in interface.entries}
        for pool, entry in zip(interface.pools, described, strict=True):
            live = [] if pool.is_constant else usage[pool.name].live_at_peak
            entry["entries_at_peak"] = entries_of_buffers(facts, functions, live)
    return described


def _pool(pool: PoolParameter, plan: MemoryPlan, use: PoolUsage) -> dict[str, Any]:
    buffers = [b for b in plan.buffers if b.pool_name == use.pool_name]
    by_name = {str(buffer.name): buffer for buffer in buffers}
    bound = PoolBound(0, True) if pool.is_empty else plan.pool_bounds[use.pool_name]
    return {
        "name": use.pool_name,
        "c_name": pool.c_name,
        "kind": pool.kind,
        "internal": pool.is_internal,
        "size_hint_bytes": int(pool.info.pool_info.size_hint_bytes),
        **_io(pool),
        "size_bytes": pool.size_bytes,
        "alignment_bytes": pool.alignment_bytes,
        **_place(pool),
        "peak_bytes": use.peak_bytes,
        "memory_pressure_bytes": use.pressure_bytes,
        "lower_bound_bytes": int(bound.lower_bound_bytes),
        "optimal": bool(bound.optimal),
        "live_at_peak": [] if pool.is_constant else [str(b.name) for b in use.live_at_peak],
        **_peak_operator(pool, plan, use),
        "buffers": [
            {
                "name": str(buffer.name),
                "kind": "constant" if pool.is_constant else _KINDS[int(buffer.kind)],
                "function": str(buffer.function),
                "offset": int(buffer.byte_offset),
                "size": int(buffer.size_bytes),
                "alignment": int(buffer.alignment),
                "live_ranges": [[int(r.start), int(r.stop)] for r in buffer.live_ranges],
                "identical": [str(name) for name in buffer.identical],
                "overlaps": {
                    str(name): {
                        "shared": shared_bytes(buffer, by_name[str(name)]),
                        "distance": int(distance),
                    }
                    for name, distance in buffer.overlaps.items()
                },
            }
            for buffer in buffers
        ],
    }


def _io(pool: PoolParameter) -> dict[str, str]:
    """Return whether the pool may hold inputs and outputs, if the user restricted that."""
    io = str(pool.info.pool_info.io)
    return {} if io == ANY_IO else {"io": io}


def io_pool(mod: IRModule) -> dict[str, str]:
    """Return the name of the I/O pool, if there is one."""
    pool = IO_MEMORY_POOL_ATTR.of(mod)
    return {} if pool is None else {"io_pool": str(pool.pool_name)}


def _place(pool: PoolParameter) -> dict[str, int]:
    """Return the user's options for the place of a pool, and the resulting start of the plan."""
    described = {
        "buffer_alignment_bytes": pool.line_bytes,
        "pool_offset_bytes": pool.pool_offset,
        "first_byte": pool.first_byte,
    }
    place = {key: value for key, value in described.items() if value}
    return place if pool.address is None else {**place, "address": pool.address}


def _peak_operator(pool: PoolParameter, plan: MemoryPlan, use: PoolUsage) -> dict[str, int]:
    """Return the operator that runs at the peak of a workspace pool, if there is one."""
    index = None if pool.is_constant else peak_operator(plan, use.live_at_peak)
    return {} if index is None else {"peak_operator": index}


def placement(plan: MemoryPlan) -> dict[str, Any]:
    """Return the policy that chose pools, and the access cycles if the speed of pools is known."""
    described: dict[str, Any] = {"policy": str(plan.placement)}
    estimate = plan.access_estimate
    if estimate is not None:
        by_preference = estimate.cycles_by_preference
        described |= {
            "clock_frequency_hz": int(estimate.clock_frequency_hz),
            "estimated_access_cycles": int(estimate.cycles),
            "estimated_access_cycles_by_preference": by_preference,
            "estimated_access_cycles_by_cost": int(estimate.cycles_by_cost),
            "estimated_access_cycles_lower_bound": int(estimate.lower_bound_cycles),
            "estimated_access_cycles_by_pool": {
                str(name): int(cycles) for name, cycles in estimate.pool_cycles.items()
            },
        }
    return described


def search(mod: IRModule, plan: MemoryPlan) -> dict[str, Any]:
    """Return the reason why the search ended, and the stages that the time budget cut short."""
    ended_by = plan.search_ended_by
    stages = NOT_COMPARED_ATTR.of(mod)
    return {
        **({} if ended_by is None else {"search_ended_by": str(ended_by)}),
        **({} if stages is None else {"not_compared": [str(stage) for stage in stages]}),
    }
