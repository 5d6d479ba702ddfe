"""CheckStaticShapes: memory is planned at compile time, so shapes are constant."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule

from usmp.passes import ModulePass
from usmp.relax.static_shapes import check_static_shapes


@tvm.transform.module_pass(opt_level=0, name="usmp.CheckStaticShapes")
class CheckStaticShapes(ModulePass):
    """Check that every tensor of the Relax `main` has constant extents, of a size that C can index.

    The module is returned as it is.

    Raises
    ------
    UnsupportedModelError
        there is no Relax function `main`, or a tensor's shape is not constant, impossible, or too
        large.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Look at `main`."""
        check_static_shapes(mod)
        return mod
