"""Memory that operators allocate themselves, in metadata.json."""

from __future__ import annotations

from typing import Any

from tvm.ir import IRModule
from tvm.target import Target

from usmp.analysis import memory_pressure
from usmp.codegen.interface.module_interface import Interface
from usmp.objects import MemoryPlan, PlacedBuffer
from usmp.objects.memory_plan import buffers_by_pool
from usmp.objects.merged_functions import merged_functions
from usmp.plain.model_library_format import CPU_DEVICE


def operator_memory(mod: IRModule, interface: Interface, plan: MemoryPlan) -> list[dict[str, Any]]:
    """Return the memory pressure of each operator's own allocations, in bytes."""
    constant = {pool.name for pool in interface.pools if pool.is_constant}
    own: dict[str, list[PlacedBuffer]] = {}
    for buffer in plan.buffers:
        own.setdefault(str(buffer.function), []).append(buffer)
    mains = {entry.function for entry in interface.entries}
    operators = sorted(
        str(variable.name_hint)
        for variable, func in mod.functions.items()
        if variable.name_hint not in mains and not merged_functions(func)
    )
    return [
        {
            "function_name": name,
            "workspace": [
                {
                    "device": _device(mod[name].attrs.get("target")),
                    "workspace_size_bytes": memory_pressure(
                        [b for b in own.get(name, []) if b.pool_name not in constant]
                    ),
                    **_pressure_by_pool(own.get(name, []), constant),
                }
            ],
        }
        for name in operators
    ]


def _device(target: Target | None) -> int:
    return CPU_DEVICE if target is None else int(target.get_target_device_type())


def _pressure_by_pool(buffers: list[PlacedBuffer], constant: set[str]) -> dict[str, dict[str, int]]:
    """Return the memory pressure of each pool, by kind and name, in bytes."""
    sizes = {name: memory_pressure(held) for name, held in buffers_by_pool(buffers).items()}
    return {
        "workspace_pools": {name: size for name, size in sizes.items() if name not in constant},
        "constant_pools": {name: size for name, size in sizes.items() if name in constant},
    }
