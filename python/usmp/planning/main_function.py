"""The main function of a module, `__tvm_main__`."""

from __future__ import annotations

from tvm import tirx
from tvm.ir import IRModule

from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME


def with_main(mod: IRModule, main: tirx.PrimFunc) -> IRModule:
    """Return a module with another `__tvm_main__`."""
    changed = IRModule(mod.functions, attrs=mod.attrs)
    changed.update_func(mod.get_global_var(MAIN_FUNCTION_NAME), main)
    return changed
