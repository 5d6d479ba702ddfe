"""Static planning needs static shapes: say so before anything else fails for want of them."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import IRModule

from usmp.objects.errors import UnsupportedModelError


def check_static_shapes(mod: IRModule) -> None:
    """Return if every tensor of the Relax `main` has constant extents.

    Raises
    ------
    UnsupportedModelError: there is no Relax function `main`, or a tensor's shape is not constant.
    """
    main = next((f for v, f in mod.functions.items() if v.name_hint == "main"), None)
    if not isinstance(main, relax.Function):
        raise UnsupportedModelError('the module has no Relax function "main"')
    for param in main.params:
        _check(param, "input")

    def on_binding(binding: relax.VarBinding) -> None:
        _check(binding.var, "tensor")

    tvm_ffi.structural_walk(main.body, (relax.VarBinding, on_binding))


def _check(var: tvm.ir.Var, what: str) -> None:
    for ty in flatten_types(var.ty):
        if isinstance(ty, relax.TensorType) and not has_static_shape(ty):
            raise UnsupportedModelError(
                f"{what} {var.name} has a dynamic shape, {ty}; memory is planned at compile time: "
                "give the model fixed input shapes and try again"
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
