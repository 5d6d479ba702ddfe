"""PassBuffersAsPointers: operators take typed pointers, as C functions do."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule

from usmp.aot.pointer_parameters import pass_buffers_as_pointers
from usmp.passes import ModulePass, with_prim_funcs


@tvm.transform.module_pass(opt_level=0, name="usmp.PassBuffersAsPointers")
class PassBuffersAsPointers(ModulePass):
    """Give PrimFuncs a typed pointer parameter in the place of each buffer parameter.

    The buffer is declared behind it, if it is used. `tirx.noalias` is dropped: after planning, two
    buffers of one function may share bytes at different times, so no pointer may be promised to be
    the only way to its bytes.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite every PrimFunc."""
        return with_prim_funcs(mod, pass_buffers_as_pointers)
