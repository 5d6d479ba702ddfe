"""The Model Library Format: sources, header, metadata and planned TIR in one tar file.

The layout is TVM 0.18's (format version 7), with the memory plan added under `memory.pools`;
`docs/model-library-format.md` says what each key means. The archive holds no time and no name of a
machine: the same model gives the same bytes. It has no `parameters/`, which TVM left empty with
linked parameters: the constants are part of the sources, or of the header for external pools.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tvm.ir import IRModule
from tvm.target import Target

from usmp.analysis import PoolUsage, memory_pressure, pool_usage
from usmp.analysis.memory.facts import module_facts
from usmp.analysis.used_overlaps import shared_bytes
from usmp.codegen.accelerator_functions import function_metadata
from usmp.codegen.c_files import file_of
from usmp.codegen.entry_facts import entries_of_buffers, peak_within
from usmp.codegen.entry_interface import EntryInterface, IOTensor
from usmp.codegen.interface import Interface
from usmp.codegen.names import replace_forbidden
from usmp.codegen.operator_calls import model_operators
from usmp.codegen.operators_metadata import operators_metadata, peak_operator
from usmp.codegen.pool_parameter import PoolParameter
from usmp.codegen.sizes_metadata import shape_metadata, sizes_metadata
from usmp.codegen.strips_metadata import strips_metadata
from usmp.codegen.tir_text import tir_text
from usmp.codegen.write_file import write_file
from usmp.names import OPTIMIZE, SMALL
from usmp.objects import BufferInfoKind, MemoryPlan, PlacedBuffer
from usmp.objects.attributes import (
    BOARD_ATTR,
    CODE_ATTR,
    FLOAT_OPERATORS_ATTR,
    IMAGE_LAYOUT_ATTR,
    MEMORY_PLAN_ATTR,
    OPERATOR_ORDER_ATTR,
    PRUNED_CHANNELS_ATTR,
    RAM_WITH_WORKSPACE_IO_ATTR,
    SCHEDULE_CHOICES_ATTR,
    STREAMING_ATTR,
)
from usmp.objects.dynamic_allocation import as_json as dynamic_as_json
from usmp.objects.entries import most_bytes_at_once
from usmp.objects.input_window import windows_as_json
from usmp.objects.merged_functions import merged_functions
from usmp.objects.model_library_format import ARENA_PATHS, FORMAT_VERSION, METADATA_FILE
from usmp.objects.targets import accelerator_of, target_text

_KINDS = {kind.value: kind.name.lower() for kind in BufferInfoKind}
_CPU = 1
"""DLPack's number of the device that runs the code, unless an accelerator does."""


def archive_files(
    mod: IRModule,
    interface: Interface,
    header: str,
    sources: Sequence[str],
    object_file: bytes | None = None,
) -> dict[str, bytes]:
    """The files of the archive: path -> content; with the operators' object file, if they are in
    one.
    """
    name = replace_forbidden(interface.module_name)
    objects = {}
    if object_file is not None:
        objects[f"codegen/host/lib/{name}_lib{len(sources)}.o"] = object_file
    return {
        METADATA_FILE: metadata_bytes(metadata(mod, interface)),
        f"codegen/host/include/{interface.prefix}.h": header.encode(),
        **{
            f"codegen/host/src/{name}_lib{number}.c": source.encode()
            for number, source in enumerate(sources)
        },
        **objects,
        **(arena_files() if interface.takes_arena else {}),
        f"src/{name}.tir": tir_text(mod).encode(),
    }


def arena_files() -> dict[str, bytes]:
    """The allocator that models call which take an arena; the same for all of them."""
    return {path: file_of(path.rpartition("/")[2]) for path in ARENA_PATHS}


def metadata_bytes(content: dict[str, Any]) -> bytes:
    """metadata.json as it stands in the archive."""
    return (json.dumps(content, indent=2) + "\n").encode()


def write_archive(files: dict[str, bytes], path: str | Path) -> None:
    """Write the files as a tar at `path`, all of it or nothing.

    Raises
    ------
    OSError
        the file cannot be written.
    """
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(f"./{name}")
            entry.size = len(data)
            entry.mode = 0o644
            tar.addfile(entry, io.BytesIO(data))
    write_file(path, content.getvalue())


def metadata(mod: IRModule, interface: Interface) -> dict[str, Any]:
    """The content of metadata.json."""
    plan: MemoryPlan = mod.attrs[MEMORY_PLAN_ATTR]
    return {
        "version": FORMAT_VERSION,
        "modules": {
            interface.module_name: {
                "model_name": interface.module_name,
                "export_datetime": _export_datetime(),
                "target": _targets(mod, interface),
                **_board(mod),
                "executors": ["aot"],
                "interface_api": "packed" if interface.is_packed else "c",
                "style": "full-model",
                "external_dependencies": [],
                "c_prefix": interface.prefix,
                "float_operators": _float_operators(mod),
                **_pruned_channels(mod),
                **windows_as_json(mod),
                **_schedule_choices(mod),
                **_image_layout(mod),
                **_merged_functions(mod),
                **_accelerator_metadata(interface),
                **operators_metadata(
                    interface.operators,
                    model_operators(mod),
                    plan,
                    [p.name for p in interface.pools if p.is_constant],
                ),
                **_operator_hooks(interface),
                "memory": {
                    "functions": {
                        "main": [_entry_memory(interface, e, plan) for e in interface.entries],
                        "operator_functions": _operator_memory(mod, interface, plan),
                    },
                    "algorithm": str(plan.algorithm),
                    **_search(plan),
                    **_state_layout(interface),
                    **_operator_order(mod),
                    **_streaming(mod),
                    **strips_metadata(mod),
                    **dynamic_as_json(mod),
                    "memory_pressure_bytes": int(plan.memory_pressure),
                    "ram": _ram(mod, interface),
                    "placement": _placement(plan),
                    "pools": _pools(mod, interface, plan),
                },
            }
        },
    }


def _targets(mod: IRModule, interface: Interface) -> list[str]:
    """What runs the code, as `--target` takes it: the CPU, and accelerators by name."""
    accelerators = {accelerator_of(f.attrs.get("target")) for f in mod.functions.values()}
    return [
        target_text(mod[interface.entries[0].function].attrs["target"]),
        *sorted(name for name in accelerators if name is not None),
    ]


def _board(mod: IRModule) -> dict[str, str]:
    """The board that the archive has a project for, if it has one."""
    return {"board": str(mod.attrs[BOARD_ATTR])} if BOARD_ATTR in mod.attrs else {}


def _float_operators(mod: IRModule) -> dict[str, int]:
    """How many operators of a quantized graph are computed in float, by name."""
    counted = (mod.attrs or {}).get(FLOAT_OPERATORS_ATTR, {})
    return {str(name): int(counted[name]) for name in sorted(counted, key=str)}


def _pruned_channels(mod: IRModule) -> dict[str, dict[str, int]]:
    """What was removed of channels that are constant or not read, if anything was."""
    said = (mod.attrs or {}).get(PRUNED_CHANNELS_ATTR)
    if said is None:
        return {}
    return {"pruned_channels": {str(name): int(said[name]) for name in sorted(said, key=str)}}


def _schedule_choices(mod: IRModule) -> dict[str, dict[str, Any]]:
    """What each goal takes, if there was a choice of schedules."""
    said = (mod.attrs or {}).get(SCHEDULE_CHOICES_ATTR)
    if said is None:
        return {}
    goals = {
        goal: {str(name): int(value) for name, value in sorted(said[goal].items())}
        for goal in OPTIMIZE
        if goal in said
    }
    return {"schedule_choices": {"optimize": str(said["optimize"]), **goals}}


def _image_layout(mod: IRModule) -> dict[str, dict[str, Any]]:
    """Which channels of images come first or last, and what either takes, if there was a choice."""
    said = (mod.attrs or {}).get(IMAGE_LAYOUT_ATTR)
    if said is None:
        return {}
    sizes = {str(name): int(said[name]) for name in sorted(said, key=str) if name != "layout"}
    return {"image_layout": {"layout": str(said["layout"]), **sizes}}


def _merged_functions(mod: IRModule) -> dict[str, dict[str, list[str]]]:
    """The functions that operators share, and whose code they are; if the code is to be small also
    that there are none."""
    merged = {str(v.name_hint): merged_functions(func) for v, func in mod.functions.items()}
    if not any(merged.values()) and (mod.attrs or {}).get(CODE_ATTR) != SMALL:
        return {}
    return {"merged_functions": {name: merged[name] for name in sorted(merged) if merged[name]}}


def _accelerator_metadata(interface: Interface) -> dict[str, Any]:
    """What the application must bring, if accelerators have functions: handles, in the order of
    the struct of devices, and the functions."""
    if not interface.accelerator_functions:
        return {}
    functions = [function_metadata(function) for function in interface.accelerator_functions]
    return {"devices": interface.devices, "accelerator_functions": functions}


def _operator_hooks(interface: Interface) -> dict[str, list[str]]:
    """The functions that are called before and after each operator, if the C calls some."""
    hooks = list(interface.operator_hooks)
    return {"operator_hooks": hooks} if hooks else {}


def _entry_memory(interface: Interface, entry: EntryInterface, plan: MemoryPlan) -> dict[str, Any]:
    """What a run of an entry needs; pools are what they are for all entries together."""
    tensors = [*entry.inputs, *entry.outputs]
    workspace, constant = (
        {pool.name: pool.size_bytes for pool in entry.pools if pool.is_constant == is_constant}
        for is_constant in (False, True)
    )
    is_only = len(interface.entries) == 1
    states = sum(state.size_bytes for state in entry.states)
    return {
        "entry": entry.name,
        "device": _CPU,
        "workspace_size_bytes": sum(workspace.values()),
        "workspace_pools": workspace,
        "constants_size_bytes": sum(constant.values()),
        "constant_pools": constant,
        "io_size_bytes": sum(
            int(tensor.info.size_bytes) for tensor in tensors if not entry.is_unbounded(tensor)
        ),
        "state_size_bytes": interface.state_size_bytes if is_only else states,
        **sizes_metadata(interface, entry),
        "inputs": _tensors(entry, entry.inputs),
        "outputs": _tensors(entry, entry.outputs),
        **({"takes_arena": True} if entry.takes_arena else {}),
        **({} if is_only else _among_entries(entry, plan)),
    }


def _among_entries(entry: EntryInterface, plan: MemoryPlan) -> dict[str, Any]:
    """What an entry shares with others, and when it runs in the program that all of them are."""
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


def _ram(mod: IRModule, interface: Interface) -> dict[str, int]:
    """What runs take of RAM in all, but for the stack."""
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
    if RAM_WITH_WORKSPACE_IO_ATTR in mod.attrs:
        ram["size_bytes_with_workspace_io"] = int(mod.attrs[RAM_WITH_WORKSPACE_IO_ATTR])
    return ram


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
        if tensor.is_by_rows:
            entry["by_rows"] = {
                "rows": int(tensor.info.rows),
                "row_size": int(tensor.info.row_size_bytes),
            }
        described[str(tensor.info.name)] = entry
    return described


def _operator_memory(mod: IRModule, interface: Interface, plan: MemoryPlan) -> list[dict[str, Any]]:
    """What each operator itself allocates, in bytes live at once."""
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
    return _CPU if target is None else int(target.get_target_device_type())


def _pressure_by_pool(buffers: list[PlacedBuffer], constant: set[str]) -> dict[str, dict[str, int]]:
    """For workspace pools and for constant pools, name -> most bytes live at once."""
    by_pool: dict[str, list[PlacedBuffer]] = {}
    for buffer in buffers:
        by_pool.setdefault(str(buffer.pool_name), []).append(buffer)
    sizes = {name: memory_pressure(held) for name, held in sorted(by_pool.items())}
    return {
        "workspace_pools": {name: size for name, size in sizes.items() if name not in constant},
        "constant_pools": {name: size for name, size in sizes.items() if name in constant},
    }


def _placement(plan: MemoryPlan) -> dict[str, Any]:
    """How pools were chosen, and what accesses take, if the pools say how fast they are."""
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


def _search(plan: MemoryPlan) -> dict[str, str]:
    """What ended the search, if the algorithm is one that searches."""
    ended_by = plan.search_ended_by
    return {} if ended_by is None else {"search_ended_by": str(ended_by)}


def _state_layout(interface: Interface) -> dict[str, Any]:
    """Where states are, if there are some; as a file has it."""
    layout = interface.state_layout
    return {} if layout is None else {"state_layout": layout.document()}


def _operator_order(mod: IRModule) -> dict[str, Any]:
    """What the order of the operators does, if there are several."""
    if OPERATOR_ORDER_ATTR not in (mod.attrs or {}):
        return {}
    order = {str(key): int(value) for key, value in mod.attrs[OPERATOR_ORDER_ATTR].items()}
    return {
        "operator_order": {**order, "optimal": order["live_bytes"] == order["least_live_bytes"]}
    }


def _streaming(mod: IRModule) -> dict[str, Any]:
    """What operators that run interleaved save, if some could."""
    if STREAMING_ATTR not in (mod.attrs or {}):
        return {}
    return {"streaming": {str(k): int(v) for k, v in mod.attrs[STREAMING_ATTR].items()}}


def _pools(mod: IRModule, interface: Interface, plan: MemoryPlan) -> list[dict[str, Any]]:
    usage = {use.pool_name: use for use in pool_usage(plan)}
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
    bound = plan.pool_bounds[use.pool_name]
    return {
        "name": use.pool_name,
        "c_name": pool.c_name,
        "kind": pool.kind,
        "internal": pool.is_internal,
        "size_hint_bytes": int(pool.info.pool_info.size_hint_bytes),
        "size_bytes": pool.size_bytes,
        "alignment_bytes": pool.alignment_bytes,
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


def _peak_operator(pool: PoolParameter, plan: MemoryPlan, use: PoolUsage) -> dict[str, int]:
    """The operator that runs at the peak."""
    found = None if pool.is_constant else peak_operator(plan, use.live_at_peak)
    return {} if found is None else {"peak_operator": found}


def _export_datetime() -> str:
    """SOURCE_DATE_EPOCH, the convention of reproducible builds; the epoch itself by default."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or "0"
    try:
        return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(int(seconds)))
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(
            f"the environment variable SOURCE_DATE_EPOCH must be seconds since 1970, not {seconds}"
        ) from error
