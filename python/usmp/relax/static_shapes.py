"""Check that all shapes are static, as planning needs, before anything else fails on them."""

from __future__ import annotations

from math import prod

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import IRModule

from usmp.support.errors import UnsupportedModelError

LARGEST_TENSOR_BYTES = 2**31 - 1


def check_static_shapes(mod: IRModule) -> None:
    """Check that every tensor of the Relax `main` has constant extents, of a size that C can index.

    Raises
    ------
    UnsupportedModelError
        there is no Relax function `main`, or a tensor's shape is not constant,
        impossible, or too large.
    """
    main = main_function(mod)
    for param in main.params:
        _check(param, "input")

    def on_binding(binding: relax.VarBinding) -> None:
        _check(binding.var, "tensor")

    tvm_ffi.structural_walk(main.body, (relax.VarBinding, on_binding))


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


def _check(var: tvm.ir.Var, what: str) -> None:
    for ty in flatten_types(var.ty):
        if not isinstance(ty, relax.TensorType):
            continue
        if not has_static_shape(ty):
            raise UnsupportedModelError(
                f"{what} {var.name} has a dynamic shape, {ty}; memory is planned at compile time: "
                "give the model fixed input shapes and try again"
            )
        extents = [int(extent) for extent in ty.shape]
        if any(extent < 0 for extent in extents):
            raise UnsupportedModelError(f"{what} {var.name} has the impossible shape {extents}")
        size_bytes = prod(extents) * tvm.DataType(str(ty.dtype)).itemsize
        if size_bytes > LARGEST_TENSOR_BYTES:
            raise UnsupportedModelError(
                f"{what} {var.name} of shape {extents} takes {size_bytes} bytes; a tensor may take "
                f"{LARGEST_TENSOR_BYTES}, because the emitted C indexes with 32 bits"
            )


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
