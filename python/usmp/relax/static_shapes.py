"""The shapes of tensors in Relax, and the function that has them."""

from __future__ import annotations

import tvm
from tvm import relax, tirx
from tvm.ir import IRModule

from usmp.support.errors import UnsupportedModelError

LARGEST_TENSOR_BYTES = 2**31 - 1


def main_function(mod: IRModule) -> relax.Function:
    """The Relax `main` of the module.

    Raises
    ------
    UnsupportedModelError
        there is none.
    """
    main = next((f for v, f in mod.functions.items() if v.name_hint == "main"), None)
    if not isinstance(main, relax.Function):
        raise UnsupportedModelError('the module has no Relax function "main"')
    return main


def has_static_shape(ty: relax.TensorType) -> bool:
    """Whether all extents are constants."""
    shape = getattr(ty, "shape", None)
    return isinstance(shape, relax.ShapeExpr) and all(
        isinstance(extent, tirx.IntImm) for extent in shape
    )


def flatten_types(ty: tvm.ir.Type) -> list[tvm.ir.Type]:
    """The types of a tuple, and of tuples in it, one after the other."""
    if isinstance(ty, tvm.ir.TupleType):
        return [leaf for element in ty.fields for leaf in flatten_types(element)]
    return [ty]
