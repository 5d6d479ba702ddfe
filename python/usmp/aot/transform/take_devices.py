"""TakeDevices: operators that call functions of accelerators take device handles."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule

from usmp.aot.accelerator_devices import take_devices
from usmp.objects.attributes.operator_attributes import (
    ACCELERATOR_FUNCTION_ATTR,
    EXTERN_KERNELS_ATTR,
)
from usmp.passes import ModulePass


@tvm.transform.module_pass(opt_level=0, name="usmp.TakeDevices")
class TakeDevices(ModulePass):
    """Add a device handle to each PrimFunc that calls a function of the user.

    It becomes the last parameter, and the last argument of the call. A module without such
    functions is returned as it is.
    """

    reads = (EXTERN_KERNELS_ATTR, ACCELERATOR_FUNCTION_ATTR)
    writes = (EXTERN_KERNELS_ATTR,)

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite these PrimFuncs."""
        return take_devices(mod)
