"""Memory of entries in metadata.json."""

from __future__ import annotations

from typing import Any

from tvm.ir import IRModule

from usmp.codegen.interface.entry_facts import peak_within
from usmp.codegen.interface.entry_interface import EntryInterface, IOTensor
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.metadata.sizes import shape_metadata, sizes_metadata
from usmp.names import WORKSPACE_IO
from usmp.objects import MemoryPlan
from usmp.objects.attributes.compared import compared_of
from usmp.objects.entries import most_bytes_at_once
from usmp.plain.model_library_format import CPU_DEVICE


def entry_memory(interface: Interface, entry: EntryInterface, plan: MemoryPlan) -> dict[str, Any]:
    """Return the memory that a run of an entry needs; pool sizes are those of all entries."""
    tensors = [*entry.inputs, *entry.outputs]
    workspace, constant = (
        {pool.name: pool.size_bytes for pool in entry.pools if pool.is_constant == is_constant}
        for is_constant in (False, True)
    )
    is_only = len(interface.entries) == 1
    states = sum(state.size_bytes for state in entry.states)
    return {
        "entry": entry.name,
        "device": CPU_DEVICE,
        "workspace_size_bytes": sum(workspace.values()),
        "workspace_pools": workspace,
        "constants_size_bytes": sum(constant.values()),
        "constant_pools": constant,
        "io_size_bytes": sum(
            int(tensor.info.size_bytes)
            for tensor in tensors
            if not (tensor.is_by_rows or entry.is_unbounded(tensor))
        ),
        "state_size_bytes": interface.state_size_bytes if is_only else states,
        **sizes_metadata(interface, entry),
        "inputs": _tensors(entry, entry.inputs),
        "outputs": _tensors(entry, entry.outputs),
        **({"takes_arena": True} if entry.takes_arena else {}),
        **({} if is_only else _among_entries(entry, plan)),
    }


def _among_entries(entry: EntryInterface, plan: MemoryPlan) -> dict[str, Any]:
    """Return the positions, peaks and shared states of one of several entries."""
    positions = plan.entry_ranges[entry.name]
    return {
        "positions": [int(positions.start), int(positions.stop)],
        "peak_bytes": {
            pool.name: peak_within(plan, pool.name, positions)
            for pool in entry.pools
            if not pool.is_constant
        },
        "states": {
            state.name: {"size": state.size_bytes, "changed": state.is_changed}
            for state in entry.states
        },
        "concurrent_with": list(entry.concurrent_with),
    }


def _tensors(owner: EntryInterface, tensors: list[IOTensor]) -> dict[str, Any]:
    described = {}
    for tensor in tensors:
        entry: dict[str, Any] = {
            "size": None if owner.is_unbounded(tensor) else int(tensor.info.size_bytes),
            "dtype": str(tensor.info.dtype),
            "shape": [int(extent) for extent in tensor.info.shape],
            **shape_metadata(tensor),
            "c_name": tensor.c_name,
        }
        if tensor.info.scale is not None and tensor.info.zero_point is not None:
            entry["quantization"] = {
                "scale": float(tensor.info.scale),
                "zero_point": int(tensor.info.zero_point),
            }
        if tensor.allocation is not None:
            entry["pool"] = str(tensor.allocation.pool_info.pool_name)
            entry["offset"] = int(tensor.allocation.byte_offset)
        if tensor.info.is_updated:
            entry["updated"] = True
        elif tensor.is_written and tensors is owner.inputs:
            entry["written"] = True
        if tensor.is_by_rows:
            entry["by_rows"] = {
                "rows": int(tensor.info.rows),
                "row_size": int(tensor.info.row_size_bytes),
            }
        described[str(tensor.info.name)] = entry
    return described


def ram(mod: IRModule, interface: Interface) -> dict[str, int]:
    """Return the RAM, in bytes and without the stack, of the concurrent entries that take most."""
    outside = most_bytes_at_once(
        {entry.name: entry.outside_bytes for entry in interface.entries},
        {frozenset((e.name, other)) for e in interface.entries for other in e.concurrent_with},
    )
    ram = {
        "size_bytes": interface.workspace_size_bytes + outside,
        "workspace_size_bytes": interface.workspace_size_bytes,
        "io_size_bytes": outside,
        "state_size_bytes": interface.state_size_bytes,
    }
    for compared in compared_of(mod):
        if compared.stage == WORKSPACE_IO and compared.alternatives[0].peak_bytes is not None:
            ram["size_bytes_with_workspace_io"] = compared.alternatives[0].peak_bytes
    return ram
