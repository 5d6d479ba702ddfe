"""CheckIterations: no operator runs for hours, which a small file could ask for."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule

from usmp.passes import ModulePass
from usmp.relax.count_iterations import check_iterations


@tvm.transform.module_pass(opt_level=0, name="usmp.CheckIterations")
class CheckIterations(ModulePass):
    """Check that every PrimFunc ends within hours, by the extents of its loops.

    The module is returned as it is.

    Raises
    ------
    LimitError
        a PrimFunc runs longer, as a pool with a window of 2^30 by 2^30; the message names it.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Check the PrimFuncs."""
        check_iterations(mod)
        return mod
