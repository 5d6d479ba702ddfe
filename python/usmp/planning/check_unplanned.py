"""The check of modules that passes before planning share."""

from __future__ import annotations

from tvm.ir import IRModule

from usmp.objects.attributes.module_attributes import MEMORY_PLAN_ATTR
from usmp.objects.entries import entries_of, entry_function_name
from usmp.plain.entry_names import ONLY_ENTRY


def check_unplanned(mod: IRModule) -> None:
    """Check that the module has the functions of its entries, and is not planned yet.

    Raises
    ------
    ValueError
        a function of an entry is missing, or the module has a plan.
    """
    if MEMORY_PLAN_ATTR.is_on(mod):
        raise ValueError("the module is planned already; plan the one that it was made from")
    names = {str(variable.name_hint) for variable in mod.functions}
    for entry in entries_of(mod):
        name = entry_function_name(entry)
        if name not in names:
            function = "main function" if entry == ONLY_ENTRY else f'function of entry "{entry}"'
            raise ValueError(f"{function} is not in the module; it must be {name}")
