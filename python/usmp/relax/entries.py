"""Entries of a Relax module, split into one module each and joined again."""

from __future__ import annotations

from collections.abc import Mapping

from tvm import relax
from tvm.ir import GlobalVar, IRModule

from usmp.objects.attributes.module_attributes import CONCURRENT_ATTR, ENTRIES_ATTR
from usmp.objects.entries import check_concurrent, check_entries
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.tir.global_symbol import GLOBAL_SYMBOL_ATTR, global_symbol

_PARTS = ("Primitive", "Composite", "Codegen")
"""Attributes of functions that passes outlined from another function."""


def relax_entries(mod: IRModule) -> list[str]:
    """Return the names of the entries, in order.

    The attribute `entries` lists them. Without it, entries are all public Relax functions, sorted
    by name. If there are none, return only "main", which later passes report as missing.

    Raises
    ------
    ValueError
        the attribute is empty, an entry is no function of the module or has no valid C name, or a
        pair of concurrent entries names a function that is no entry.
    """
    functions = {
        str(v.name_hint): f for v, f in mod.functions.items() if isinstance(f, relax.Function)
    }
    listed = ENTRIES_ATTR.of(mod)
    if listed is None:
        public = (name for name, func in functions.items() if _is_public(name, func))
        names = sorted(public) or [ONLY_ENTRY]
    else:
        names = [str(name) for name in listed]
        if not names:
            raise ValueError(f'the attribute "{ENTRIES_ATTR}" of the module lists no entry')
        for name in names:
            if name not in functions:
                raise ValueError(
                    f'entry "{name}" is no Relax function of the module; these are '
                    f"{', '.join(sorted(functions)) or 'none'}"
                )
    check_entries(names)
    together = CONCURRENT_ATTR.of(mod) or ()
    check_concurrent([[str(name) for name in pair] for pair in together], names)
    return names


def split_entries(mod: IRModule, names: list[str]) -> dict[str, IRModule]:
    """Return a module for each entry: the entry as `main`, and all functions that are no
    entries."""
    others = {
        variable: func
        for variable, func in mod.functions.items()
        if str(variable.name_hint) not in {*names, ONLY_ENTRY}
    }
    attrs = CONCURRENT_ATTR.removed(ENTRIES_ATTR.removed(mod)).attrs or {}
    modules = {}
    for name in names:
        main = mod[name].with_attr(GLOBAL_SYMBOL_ATTR, ONLY_ENTRY)
        modules[name] = IRModule({**others, GlobalVar(ONLY_ENTRY): main}).with_attrs(attrs)
    return modules


def join_functions(mod: IRModule, modules: Mapping[str, IRModule]) -> IRModule:
    """Return `mod` with each entry replaced by the `main` of its module."""
    changed = IRModule(mod.functions, attrs=mod.attrs)
    for name, alone in modules.items():
        func = alone[ONLY_ENTRY].with_attr(GLOBAL_SYMBOL_ATTR, name)
        changed.update_func(mod.get_global_var(name), func)
    return changed


def is_part(func: relax.Function) -> bool:
    """Return whether a pass outlined the function from another one."""
    return any(part in (func.attrs or {}) for part in _PARTS)


def _is_public(name: str, func: relax.Function) -> bool:
    if is_part(func):
        return False
    return name == ONLY_ENTRY or global_symbol(func) is not None
