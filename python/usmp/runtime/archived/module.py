"""Read a module of an archive from its metadata, with checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from usmp.names import DYNAMIC_ALLOCATORS, OPTIMIZE
from usmp.plain.buffer_place import BufferInfoKind
from usmp.plain.entry_names import check_only_entry
from usmp.runtime.archived.entry import ArchivedEntry, ArchivedTensor, read_entries
from usmp.runtime.archived.operators import check_operators
from usmp.runtime.archived.pool import ArchivedPool, read_pool
from usmp.runtime.archived.read_metadata import (
    DamagedMetadata,
    is_count,
    is_identifier,
    is_list_of,
    is_text,
    read_value,
)
from usmp.support.text.plain_text import shown


@dataclass(frozen=True)
class ArchivedModule:
    """A compiled model of an archive.

    Parameters
    ----------
    name
        name in the archive.
    c_prefix
        prefix of the C symbols, such as "tvmgen_default".
    entries
        entries by name, in the order of the model.
    pools
        pools in the order of the plan.
    algorithm
        name of the planning algorithm.
    memory_pressure_bytes
        most workspace bytes that are live at once, over all pools.
    search_ended_by
        as in `usmp.objects.memory_plan.MemoryPlan`.
    metadata
        value of the module in metadata.json, for example for `print_memory_summary`.
    """

    name: str
    c_prefix: str
    entries: dict[str, ArchivedEntry]
    pools: list[ArchivedPool]
    algorithm: str
    memory_pressure_bytes: int
    search_ended_by: str | None
    metadata: Mapping[str, Any] = field(repr=False)

    @property
    def inputs(self) -> dict[str, ArchivedTensor]:
        """The inputs of the only entry; `ValueError` if there are several."""
        return self._only_entry.inputs

    @property
    def outputs(self) -> dict[str, ArchivedTensor]:
        """The outputs of the only entry; `ValueError` if there are several."""
        return self._only_entry.outputs

    @property
    def _only_entry(self) -> ArchivedEntry:
        check_only_entry(self.name, list(self.entries))
        return next(iter(self.entries.values()))

    @property
    def state_size_bytes(self) -> int:
        """The bytes of states in all pools."""
        buffers = (buffer for pool in self.pools for buffer in pool.buffers)
        return sum(b.size_bytes for b in buffers if b.kind == BufferInfoKind.STATE)


_PRUNED = ("weights_size_bytes", "macs")
"""Numbers before and after channels were pruned."""


def read_module(name: str, metadata: Any) -> ArchivedModule:
    """Read a module of metadata.json.

    Raises
    ------
    DamagedMetadata
        a value is missing, has the wrong type, or contradicts another value.
    """
    where = f'module "{shown(name)}"'
    try:
        memory = metadata["memory"]
        mains = list(memory["functions"]["main"])
        pools = list(memory["pools"])
    except (KeyError, TypeError, AttributeError) as error:
        raise DamagedMetadata(f"{where} lacks its inputs, outputs or pools") from error
    read_value(metadata, "model_name", is_text, where)
    floats = read_value(metadata, "float_operators", lambda value: isinstance(value, dict), where)
    if not all(is_count(count) for count in floats.values()):
        raise DamagedMetadata(f'{where} has no valid "float_operators"')
    if "model_files" in metadata:
        read_value(metadata, "model_files", is_list_of(is_text), where)
    _check_pruned_channels(metadata, where)
    _check_windows(metadata, where)
    _check_search(metadata, where)
    _check_schedules(metadata, where)
    _check_image_layout(metadata, where)
    api = read_value(metadata, "interface_api", lambda value: value in ("c", "packed"), where)
    prefix = read_value(metadata, "c_prefix", _is_prefix, where)
    entries = read_entries(mains, prefix, where)
    if api == "packed" and any(entry.sizes for entry in entries.values()):
        raise DamagedMetadata(f"{where} has symbolic sizes, which the packed interface cannot have")
    _check_accelerators(metadata, where)
    _check_placement(memory, where)
    if "not_compared" in memory:
        read_value(memory, "not_compared", is_list_of(is_text), where)
    check_ram(memory, where)
    _check_dynamic_allocations(memory, where)
    archived_pools = [read_pool(pool, entries, where) for pool in pools]
    if "io_pool" in memory:
        workspace = {pool.name for pool in archived_pools if not pool.is_constant}
        read_value(memory, "io_pool", lambda value: is_text(value) and value in workspace, where)
    check_operators(metadata, where)
    return ArchivedModule(
        name,
        prefix,
        entries,
        archived_pools,
        read_value(memory, "algorithm", is_text, where),
        read_value(memory, "memory_pressure_bytes", is_count, where),
        read_value(memory, "search_ended_by", is_text, where)
        if "search_ended_by" in memory
        else None,
        metadata,
    )


def _check_placement(memory: Mapping[str, Any], where: str) -> None:
    """Check the placement policy and the estimated access cycles."""
    if "placement" not in memory:
        return
    placement, cycles = memory["placement"], "estimated_access_cycles"
    read_value(placement, "policy", is_text, f"the placement of {where}")
    if cycles in placement:
        by_preference = f"{cycles}_by_preference"
        if placement.get(by_preference, "missing") is not None:
            read_value(placement, by_preference, is_count, where)
        for key in (cycles, f"{cycles}_by_cost", f"{cycles}_lower_bound"):
            read_value(placement, key, is_count, where)


def check_ram(memory: Mapping[str, Any], where: str) -> None:
    """Raise DamagedMetadata if the sums of the RAM are no numbers. Earlier archives lack them."""
    if "ram" not in memory:
        return
    ram = memory["ram"]
    for size in ("size_bytes", "workspace_size_bytes", "state_size_bytes", "io_size_bytes"):
        read_value(ram, size, is_count, f"the RAM of {where}")
    if "size_bytes_with_workspace_io" in ram:
        read_value(ram, "size_bytes_with_workspace_io", is_count, f"the RAM of {where}")


def _check_dynamic_allocations(memory: Mapping[str, Any], where: str) -> None:
    """Check the buffers that runs allocate, if there are any."""
    if "dynamic_allocations" not in memory:
        return
    allocations, subject = memory["dynamic_allocations"], f"the dynamic allocations of {where}"
    read_value(allocations, "allocator", lambda value: value in DYNAMIC_ALLOCATORS, subject)
    is_object = is_list_of(lambda value: isinstance(value, dict))
    for buffer in read_value(allocations, "buffers", is_object, subject):
        for key in ("name", "function", "size", "why"):
            read_value(buffer, key, is_text, subject)


def _check_pruned_channels(metadata: Mapping[str, Any], where: str) -> None:
    """Check the numbers of pruned channels, if there are any."""
    if "pruned_channels" not in metadata:
        return
    counts = metadata["pruned_channels"]
    for key in ("channels", *(f"{number}{when}" for number in _PRUNED for when in ("_before", ""))):
        read_value(counts, key, is_count, f"the removed channels of {where}")


def _check_windows(metadata: Mapping[str, Any], where: str) -> None:
    """Check the numbers of sliding windows, if there are any."""
    if "windows" not in metadata:
        return
    windows, subject = metadata["windows"], f"the windows of {where}"
    for key in ("state_size_bytes", "macs", "window_macs"):
        read_value(windows, key, is_count, subject)
    read_value(windows, "whole", is_list_of(is_text), subject)
    inputs = read_value(windows, "inputs", lambda value: isinstance(value, dict), subject)
    for window in inputs.values():
        for key in ("rows", "window_rows"):
            read_value(window, key, is_count, subject)
    states = {"states": {}, **windows}
    for state in read_value(
        states, "states", lambda value: isinstance(value, dict), subject
    ).values():
        read_value(state, "tensor", is_text, subject)
        read_value(state, "rows", is_count, subject)


def _check_search(metadata: Mapping[str, Any], where: str) -> None:
    """Check the choices that the search compared, and their bytes."""
    subject = f"the search of {where}"
    is_objects = is_list_of(lambda value: isinstance(value, dict))
    for line in read_value({"search": [], **metadata}, "search", is_objects, where):
        for key in ("stage", "taken", *(["entry"] if "entry" in line else [])):
            read_value(line, key, is_text, subject)
        alternatives = read_value(line, "alternatives", is_objects, subject)
        for alternative in alternatives:
            for key in ("value", "why"):
                read_value(alternative, key, is_text, subject)
        for choice in (line, *alternatives):
            for key in ("peak_bytes", "bound_bytes"):
                if key in choice:
                    read_value(choice, key, is_count, subject)


def _check_schedules(metadata: Mapping[str, Any], where: str) -> None:
    """Check the costs of each choice of schedules, and the tiles, if there was a choice."""
    if "schedule_choices" not in metadata:
        return
    choices = metadata["schedule_choices"]
    chosen = f"the choice of schedules of {where}"
    goal = read_value(choices, "optimize", lambda value: value in tuple(OPTIMIZE), chosen)
    for name in [goal, *(name for name in OPTIMIZE if name in choices)]:
        for key in ("peak_bytes", "instructions"):
            read_value(choices.get(name), key, is_count, f"{name} in {chosen}")
    is_object = is_list_of(lambda value: isinstance(value, dict))
    for operator in read_value(metadata, "operators", is_object, where):
        for schedule in read_value({"schedules": [], **operator}, "schedules", is_object, where):
            read_value(schedule, "tile", is_text, f"a schedule of {where}")


def _check_image_layout(metadata: Mapping[str, Any], where: str) -> None:
    """Check the peaks with channels first and with channels last, if there was a choice."""
    if "image_layout" not in metadata:
        return
    layouts, subject = metadata["image_layout"], f"the layout of images of {where}"
    read_value(layouts, "layout", lambda value: value in ("NCHW", "NHWC"), subject)
    for order in ("first", "last"):
        read_value(layouts, f"channels_{order}_peak_bytes", is_count, subject)


def _check_accelerators(metadata: Mapping[str, Any], where: str) -> None:
    """Check that each function of an accelerator has a symbol, and that there are devices."""
    if "devices" not in metadata and "accelerator_functions" not in metadata:
        return
    devices, functions = metadata.get("devices"), metadata.get("accelerator_functions")
    is_complete = (
        is_list_of(is_identifier)(devices)
        and is_list_of(lambda function: isinstance(function, dict))(functions)
        and all(is_identifier(function.get("symbol")) for function in functions or ())
    )
    if not (is_complete and devices and functions):
        raise DamagedMetadata(f"{where} has functions of accelerators without symbol or device")


def _is_prefix(value: Any) -> bool:
    return is_identifier(value) and value.startswith("tvmgen_")
