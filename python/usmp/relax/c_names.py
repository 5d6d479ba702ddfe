"""Whose names the outputs of a module have in C: those in the model, or those of TVM 0.18."""

from __future__ import annotations

from tvm import relax
from tvm.ir import IRModule

from usmp.names import C_NAMES, NAMES_018
from usmp.objects.attributes import NAMES_018_ATTR, NAMES_OUTPUTS_ATTR
from usmp.relax.entries import relax_entries


def with_c_names(mod: IRModule, c_names: str) -> IRModule:
    """Set which entries have outputs that are called as TVM 0.18 called them.

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
        raise ValueError(f'unknown c_names "{c_names}"; supported: {", ".join(C_NAMES)}')
    if c_names != NAMES_018:
        return mod
    functions = {str(v.name_hint): f for v, f in mod.functions.items()}
    unnamed = [
        entry
        for entry in relax_entries(mod)
        if isinstance(function := functions.get(entry), relax.Function)
        and NAMES_OUTPUTS_ATTR not in (function.attrs or {})
    ]
    return mod.with_attr(NAMES_018_ATTR, unnamed) if unnamed else mod
