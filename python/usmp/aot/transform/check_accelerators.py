"""CheckAccelerators: target and interface support the functions of accelerators."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule
from tvm.target import Target

from usmp.codegen.interface.accelerator_functions import accelerator_functions
from usmp.objects.arguments.executor import executor_of
from usmp.objects.attributes.module_attributes import EXECUTOR_ATTR
from usmp.objects.attributes.operator_attributes import ACCELERATOR_FUNCTION_ATTR
from usmp.passes import ModulePass


@tvm.transform.module_pass(opt_level=0, name="usmp.CheckAccelerators")
class CheckAccelerators(ModulePass):
    """Check that code for this target and interface can call the functions of accelerators.

    The interface is that of the module's attribute `executor`. The module is returned as it is.

    Parameters
    ----------
    target
        target of the main function; by default c.

    Raises
    ------
    ValueError
        the module has such functions, and the target is not c or the interface is packed; or two
        such functions have one symbol.
    """

    reads = (EXECUTOR_ATTR, ACCELERATOR_FUNCTION_ATTR)

    def __init__(self, target: Target | None = None) -> None:
        self.target = target

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Check the PrimFuncs."""
        functions = accelerator_functions(mod)
        kind = "c" if self.target is None else self.target.kind.name
        if functions and kind != "c":
            raise ValueError(
                f'target "{kind}" cannot call functions of accelerators, such as '
                f"{functions[0].symbol}; use target c"
            )
        if functions and executor_of(mod).is_packed:
            raise ValueError(
                "interface-api packed cannot pass the devices of accelerators, which "
                f"{functions[0].symbol} needs; use interface-api c"
            )
        return mod
