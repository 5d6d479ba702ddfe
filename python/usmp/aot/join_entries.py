"""The joined AoT module of several entries, with one copy of common functions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tvm import tirx
from tvm.ir import GlobalVar, IRModule

from usmp.analysis.buffer_extraction import is_plannable
from usmp.analysis.memory.facts import module_facts
from usmp.aot.shared_functions import SharedFunctions
from usmp.objects.attributes.annotations import CONSTANT_DATA_ATTR
from usmp.objects.attributes.compared import of_entry, with_compared
from usmp.objects.attributes.module_attributes import (
    ENTRIES_ATTR,
    FLOAT_OPERATORS_ATTR,
    MAIN_FUNCTION_NAME,
    OTHER_FORMS_ATTR,
    PRUNED_CHANNELS_ATTR,
    WINDOWS_ATTR,
)
from usmp.objects.entries import concurrent_entries, entry_function_name
from usmp.tir.global_symbol import with_new_symbol
from usmp.tir.nodes import nodes_of


def join_entries(mod: IRModule, modules: Mapping[str, IRModule]) -> IRModule:
    """Return a module with the main functions of all entries, each named after its entry.

    PrimFuncs that differ only in names and records (`usmp.ops.records`) are merged, and keep all
    records. Entries that may run concurrently do not share operators that allocate memory, because
    an allocation has one address.

    Parameters
    ----------
    mod
        the module of all entries; the result has its attributes.
    modules
        entry -> its module after `LowerMain`.

    Raises
    ------
    ValueError
        a function is recursive.
    """
    busy = {entry for pair in concurrent_entries(mod) for entry in pair}
    joined = _Joined(SharedFunctions([entry_function_name(entry) for entry in modules]))
    for entry, alone in modules.items():
        joined.add(entry, alone, apart=entry in busy)
    attrs = {
        **(mod.attrs or {}),
        **_joint_attributes(list(modules.values())),
        **_joint_windows(modules),
        **ENTRIES_ATTR.entry(list(modules)),
    }
    lines = [line for name, alone in modules.items() for line in of_entry(alone, name)]
    return with_compared(IRModule(joined.shared.functions).with_attrs(attrs), lines)


@dataclass
class _Joined:
    """The joined functions of the added entries."""

    shared: SharedFunctions

    def add(self, entry: str, alone: IRModule, apart: bool) -> None:
        """Add an entry and its callees."""
        graph = module_facts(alone).graph
        allocating: set[str] = set()

        def owner_of(name: str) -> str:
            if _allocates(graph.functions[name]) or not allocating.isdisjoint(graph.callees(name)):
                allocating.add(name)
            return entry if apart and name in allocating else ""

        main = GlobalVar(entry_function_name(entry))
        func = self.shared.add_callees(alone, MAIN_FUNCTION_NAME, owner_of)
        self.shared.functions[main] = with_new_symbol(func, str(main.name_hint))


def _allocates(func: tirx.PrimFunc) -> bool:
    """Return whether a function has planned allocations other than constants."""
    return any(
        is_plannable(stmt) and not CONSTANT_DATA_ATTR.is_on(stmt)
        for stmt in nodes_of(func.body, tirx.AllocBuffer)
    )


def _joint_windows(modules: Mapping[str, IRModule]) -> dict[str, object]:
    """Return the attribute of windows of all entries together, with inputs as `ENTRY.NAME`."""
    known = {name: WINDOWS_ATTR.of(mod) or {} for name, mod in modules.items()}
    windows = {name: own for name, own in known.items() if own}
    if not windows:
        return {}
    inputs = {
        f"{entry}.{name}": window
        for entry, own in windows.items()
        for name, window in own["inputs"].items()
    }
    states = {name: state for own in windows.values() for name, state in own["states"].items()}
    counts = {
        count: sum(int(own[count]) for own in windows.values())
        for count in ("state_size_bytes", "macs", "window_macs")
    }
    whole = dict.fromkeys(str(name) for own in windows.values() for name in own["whole"])
    return WINDOWS_ATTR.entry({"inputs": inputs, "states": states, **counts, "whole": list(whole)})


def _joint_attributes(modules: Collection[IRModule]) -> dict[str, object]:
    """Return the attributes of all entries together."""
    attrs: dict[str, object] = {}
    counted: dict[str, int] = {}
    pruned: dict[str, int] = {}
    for mod in modules:
        for name, count in (PRUNED_CHANNELS_ATTR.of(mod) or {}).items():
            pruned[name] = pruned.get(name, 0) + count
        for name, count in (FLOAT_OPERATORS_ATTR.of(mod) or {}).items():
            counted[name] = counted.get(name, 0) + count
    if counted:
        attrs |= FLOAT_OPERATORS_ATTR.entry(counted)
    if pruned:
        attrs |= PRUNED_CHANNELS_ATTR.entry(pruned)
    if any(OTHER_FORMS_ATTR.is_on(mod) for mod in modules):
        # Forms of the entries were not compared in all combinations.
        attrs |= OTHER_FORMS_ATTR.entry({"needed_bytes": 0, "pools": []})
    return attrs
