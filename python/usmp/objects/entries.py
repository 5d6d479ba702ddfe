"""The entries of a module: the functions that an application calls."""

from __future__ import annotations

from itertools import combinations

from tvm.ir import IRModule

from usmp.objects.attributes import CONCURRENT_ATTR, ENTRIES_ATTR, MAIN_FUNCTION_NAME

ONLY_ENTRY = "main"
"""The entry of a module that lists none; no C symbol has its name."""


def entries_of(mod: IRModule) -> list[str]:
    """The names of the entries, in order: what the attribute `entries` lists, or "main"."""
    listed = mod.attrs.get(ENTRIES_ATTR) if mod.attrs else None
    return [ONLY_ENTRY] if listed is None else [str(name) for name in listed]


def entry_function_name(entry: str) -> str:
    """The name of the AoT PrimFunc of an entry: `__tvm_main__` of "main"."""
    return MAIN_FUNCTION_NAME if entry == ONLY_ENTRY else f"__tvm_{entry}__"


def concurrent_entries(mod: IRModule) -> set[frozenset[str]]:
    """The pairs of entries that may run at once, by the attribute `concurrent_entries`, which
    lists sets of names: any two of a set may."""
    listed = mod.attrs.get(CONCURRENT_ATTR) if mod.attrs else None
    sets = [[str(name) for name in together] for together in listed or ()]
    return {frozenset(pair) for together in sets for pair in combinations(together, 2)}
