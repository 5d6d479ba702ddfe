"""Modules as readable text."""

from __future__ import annotations

import tvm_ffi
from tvm.ir import GlobalVar, IRModule

from usmp.codegen.c.names import replace_forbidden
from usmp.support.text.unique_names import UniqueNames


def tir_text(mod: IRModule) -> str:
    """Return the module in TVMScript, which is valid Python.

    TVM writes variables as identifiers, but names of functions unchanged. Here function names that
    are not identifiers become identifiers.
    """
    names = UniqueNames(v.name_hint for v in mod.functions if _is_identifier(v.name_hint))
    renamed = {
        variable: GlobalVar(names.unique(f"_{replace_forbidden(variable.name_hint)}"))
        for variable in mod.functions
        if not _is_identifier(variable.name_hint)
    }
    if renamed:
        functions = {
            renamed.get(variable, variable): tvm_ffi.structural_map(
                function, (GlobalVar, lambda called: renamed.get(called, called))
            )
            for variable, function in mod.functions.items()
        }
        mod = IRModule(functions, attrs=mod.attrs)
    return f"{mod.script(show_meta=False).rstrip()}\n"


def _is_identifier(name: str) -> bool:
    return name.isascii() and name.isidentifier()
