"""Names of outputs: TVM 0.18's attribute for them, and their names in C code."""

from __future__ import annotations

from tvm import relax
from tvm.ir import IRModule

from usmp.names import C_NAMES, NAMES_018
from usmp.objects.attributes.module_attributes import (
    NAMES_018_ATTR,
    NAMES_OUTPUTS_ATTR,
    OUTPUT_NAMES_ATTR,
)
from usmp.relax.entries import relax_entries
from usmp.support.text.known_names import unknown_name
from usmp.tvm018.python_names import OLD_OUTPUT_NAMES_ATTR, OUTPUT_TENSOR_NAMES


def with_output_names(mod: IRModule) -> IRModule:
    """Rename TVM 0.18's attribute for output names, and warn the user."""
    old = OLD_OUTPUT_NAMES_ATTR
    renamed = {
        variable: OUTPUT_NAMES_ATTR.put(function.without_attr(old), function.attrs[old])
        for variable, function in mod.functions.items()
        if isinstance(function, relax.Function)
        and old in (function.attrs or {})
        and not OUTPUT_NAMES_ATTR.is_on(function)
    }
    if not renamed:
        return mod
    OUTPUT_TENSOR_NAMES.tell()
    return IRModule({**dict(mod.functions.items()), **renamed}, attrs=mod.attrs)


def with_c_names(mod: IRModule, c_names: str) -> IRModule:
    """Record which entries name their outputs in C as TVM 0.18 did.

    Parameters
    ----------
    mod
        a Relax module.
    c_names
        "model" or "0.18", see `usmp.build`.

    Raises
    ------
    ValueError
        `c_names` is neither.
    """
    if c_names not in C_NAMES:
        problem = f'unknown c_names "{c_names}"'
        raise ValueError(unknown_name(problem, c_names, C_NAMES, "Names"))
    if c_names != NAMES_018:
        return mod
    functions = {str(v.name_hint): f for v, f in mod.functions.items()}
    unnamed = [
        entry
        for entry in relax_entries(mod)
        if isinstance(function := functions.get(entry), relax.Function)
        and not NAMES_OUTPUTS_ATTR.is_on(function)
    ]
    return NAMES_018_ATTR.put(mod, unnamed) if unnamed else mod
