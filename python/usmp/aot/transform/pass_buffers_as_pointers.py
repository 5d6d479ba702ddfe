"""PassBuffersAsPointers: operators take typed pointers, as C functions do."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule

from usmp.aot.pointer_parameters import pass_buffers_as_pointers
from usmp.passes import ModulePass, with_prim_funcs


@tvm.transform.module_pass(opt_level=0, name="usmp.PassBuffersAsPointers")
class PassBuffersAsPointers(ModulePass):
    """Replace each buffer parameter of PrimFuncs by a typed pointer.

    A buffer that is used is declared in the body. `tirx.noalias` is removed, because buffers of one
    function may share bytes after planning.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite every PrimFunc."""
        return with_prim_funcs(mod, pass_buffers_as_pointers)
