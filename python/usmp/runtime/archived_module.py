"""One module of an archive, as its metadata describes it, checked and typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from usmp.names import DYNAMIC_ALLOCATORS, OPTIMIZE
from usmp.plain.buffer_place import BufferInfoKind
from usmp.plain.entry_names import check_only_entry
from usmp.runtime.archived_entry import ArchivedEntry, ArchivedTensor, read_entries
from usmp.runtime.archived_operators import check_operators
from usmp.runtime.archived_pool import ArchivedPool, read_pool
from usmp.runtime.read_metadata import (
    DamagedMetadata,
    is_count,
    is_identifier,
    is_list_of,
    is_text,
    read_value,
)
from usmp.support.plain_text import shown


@dataclass(frozen=True)
class ArchivedModule:
    """A compiled model of an archive.

    Parameters
    ----------
    name
        its name in the archive.
    c_prefix
        of its C symbols, such as "tvmgen_default".
    entries
        by name, in the order of the model.
    pools
        in the order of the plan.
    algorithm
        which algorithm made the plan.
    memory_pressure_bytes
        most workspace bytes live at once, over all pools.
    search_ended_by
        as `MemoryPlan` has it.
    metadata
        all that metadata.json says of it; `print_memory_summary` takes this.
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
        """Bytes that are kept between runs, in all pools together."""
        buffers = (buffer for pool in self.pools for buffer in pool.buffers)
        return sum(b.size_bytes for b in buffers if b.kind == BufferInfoKind.STATE)


_PRUNED = ("weights_size_bytes", "macs")
"""What is said of the weights before and after channels were removed."""


def read_module(name: str, metadata: Any) -> ArchivedModule:
    """Read what metadata.json says of one module.

    Raises
    ------
    DamagedMetadata
        something is missing, of the wrong type, or contradicts something else.
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
    """Check that what the metadata says of the choice of pools, and of cycles, can be shown."""
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
    """Check that the sums of the RAM are numbers; earlier archives lack them.

    Raises
    ------
    DamagedMetadata
        one is not.
    """
    if "ram" not in memory:
        return
    ram = memory["ram"]
    for size in ("size_bytes", "workspace_size_bytes", "state_size_bytes", "io_size_bytes"):
        read_value(ram, size, is_count, f"the RAM of {where}")
    if "size_bytes_with_workspace_io" in ram:
        read_value(ram, "size_bytes_with_workspace_io", is_count, f"the RAM of {where}")


def _check_dynamic_allocations(memory: Mapping[str, Any], where: str) -> None:
    """Check that what it says of buffers that runs allocate can be shown, if there are some."""
    if "dynamic_allocations" not in memory:
        return
    said, what = memory["dynamic_allocations"], f"the dynamic allocations of {where}"
    read_value(said, "allocator", lambda value: value in DYNAMIC_ALLOCATORS, what)
    is_object = is_list_of(lambda value: isinstance(value, dict))
    for buffer in read_value(said, "buffers", is_object, what):
        for key in ("name", "function", "size", "why"):
            read_value(buffer, key, is_text, what)


def _check_pruned_channels(metadata: Mapping[str, Any], where: str) -> None:
    """Check that it says in numbers which channels were removed, if any were."""
    if "pruned_channels" not in metadata:
        return
    said = metadata["pruned_channels"]
    for key in ("channels", *(f"{what}{when}" for what in _PRUNED for when in ("_before", ""))):
        read_value(said, key, is_count, f"the removed channels of {where}")


def _check_windows(metadata: Mapping[str, Any], where: str) -> None:
    """Check that it says in numbers what runs take of windows, keep and compute, if there are
    windows."""
    if "windows" not in metadata:
        return
    said, what = metadata["windows"], f"the windows of {where}"
    for key in ("state_size_bytes", "macs", "window_macs"):
        read_value(said, key, is_count, what)
    read_value(said, "whole", is_list_of(is_text), what)
    inputs = read_value(said, "inputs", lambda value: isinstance(value, dict), what)
    for window in inputs.values():
        for key in ("rows", "window_rows"):
            read_value(window, key, is_count, what)


def _check_search(metadata: Mapping[str, Any], where: str) -> None:
    """Check that it names the choices that were compared, with bytes in numbers."""
    what = f"the search of {where}"
    is_objects = is_list_of(lambda value: isinstance(value, dict))
    for line in read_value({"search": [], **metadata}, "search", is_objects, where):
        for key in ("stage", "taken", *(["entry"] if "entry" in line else [])):
            read_value(line, key, is_text, what)
        alternatives = read_value(line, "alternatives", is_objects, what)
        for alternative in alternatives:
            for key in ("value", "why"):
                read_value(alternative, key, is_text, what)
        for one in (line, *alternatives):
            for key in ("peak_bytes", "bound_bytes"):
                if key in one:
                    read_value(one, key, is_count, what)


def _check_schedules(metadata: Mapping[str, Any], where: str) -> None:
    """Check that it says in numbers what each choice of schedules takes, and names their tiles, if
    there was a choice."""
    if "schedule_choices" not in metadata:
        return
    choices = metadata["schedule_choices"]
    chosen = f"the choice of schedules of {where}"
    goal = read_value(choices, "optimize", lambda value: value in OPTIMIZE, chosen)
    for name in [goal, *(name for name in OPTIMIZE if name in choices)]:
        for key in ("peak_bytes", "instructions"):
            read_value(choices.get(name), key, is_count, f"{name} in {chosen}")
    is_object = is_list_of(lambda value: isinstance(value, dict))
    for operator in read_value(metadata, "operators", is_object, where):
        for schedule in read_value({"schedules": [], **operator}, "schedules", is_object, where):
            read_value(schedule, "tile", is_text, f"a schedule of {where}")


def _check_image_layout(metadata: Mapping[str, Any], where: str) -> None:
    """Check that it says in numbers what either order of channels takes, if there was a choice."""
    if "image_layout" not in metadata:
        return
    said, what = metadata["image_layout"], f"the layout of images of {where}"
    read_value(said, "layout", lambda value: value in ("NCHW", "NHWC"), what)
    for order in ("first", "last"):
        read_value(said, f"channels_{order}_peak_bytes", is_count, what)


def _check_accelerators(metadata: Mapping[str, Any], where: str) -> None:
    """Check that there are no functions of accelerators, or all have what a caller needs."""
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
