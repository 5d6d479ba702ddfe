"""Operators that look each element up in a table are fused as element-wise ones.

TVM classifies operators by the places that they read. Those of a table depend on the data, so it
takes such an operator for one that nothing is to be fused with.
"""

from __future__ import annotations

import tvm
from tvm import tirx
from tvm.ir import IRModule

from usmp.ops.emit import ELEMENT_WISE_MARK

_ELEMENT_WISE = 0
"""TVM's OpPatternKind."""


def fuse_tables(mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
    """A module pass: what is marked gets the pattern of element-wise operators."""
    changed = IRModule(mod.functions, attrs=mod.attrs)
    for variable, func in mod.functions.items():
        if (
            isinstance(func, tirx.PrimFunc)
            and func.attrs is not None
            and ELEMENT_WISE_MARK in func.attrs
        ):
            marked = func.without_attr(ELEMENT_WISE_MARK).with_attr("op_pattern", _ELEMENT_WISE)
            changed.update_func(variable, marked)
    return changed
