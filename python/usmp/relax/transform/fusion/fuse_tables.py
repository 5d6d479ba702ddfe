"""FuseTables: table lookups are fused like element-wise operators."""

from __future__ import annotations

import tvm
from tvm import tirx
from tvm.ir import IRModule

from usmp.ops.emit import ELEMENT_WISE_ATTR
from usmp.passes import ModulePass, with_prim_funcs

_ELEMENT_WISE = 0
"""TVM's OpPatternKind `kElemWise`."""


@tvm.transform.module_pass(opt_level=0, name="usmp.FuseTables")
class FuseTables(ModulePass):
    """Set the `op_pattern` of PrimFuncs that are marked as element-wise.

    TVM classifies operators by the indices that they read. Indices into a table depend on the data,
    so TVM marks table lookups as opaque.
    """

    reads = (ELEMENT_WISE_ATTR,)

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Replace the mark (`usmp.ops.emit.ELEMENT_WISE_ATTR`) by the pattern."""
        return with_prim_funcs(mod, _with_pattern)


def _with_pattern(func: tirx.PrimFunc) -> tirx.PrimFunc:
    if not ELEMENT_WISE_ATTR.is_on(func):
        return func
    return ELEMENT_WISE_ATTR.removed(func).with_attr("op_pattern", _ELEMENT_WISE)
