"""What a Relax `main` binds, and when it is used for the last time."""

from __future__ import annotations

from collections.abc import Iterator

import tvm
import tvm_ffi
from tvm import relax, tirx

from usmp.relax.static_shapes import has_static_shape
from usmp.support.errors import UnsupportedModelError


def bindings(main: relax.Function) -> Iterator[relax.VarBinding]:
    """The bindings of variables, in order.

    Raises
    ------
    UnsupportedModelError
        a shape that is known at run time only.
    """
    for block in main.body.blocks:
        for binding in block.bindings:
            if not isinstance(binding, relax.VarBinding):
                raise UnsupportedModelError(
                    f"the model checks a shape at run time ({binding.var.name}); "
                    "only static shapes can be planned"
                )
            yield binding


def last_uses(main: relax.Function) -> dict[tirx.Var, int]:
    """The position of the last binding that mentions a Relax variable; the number of all bindings
    for the variables of the result."""
    last: dict[tirx.Var, int] = {}
    values = [binding.value for binding in bindings(main)]
    for position, value in enumerate([*values, main.body.body]):

        def on_variable(var: tirx.Var, position: int = position) -> None:
            last[var] = position

        tvm_ffi.structural_walk(value, (tirx.Var, on_variable))
    return last


def shape_and_dtype(ty: tvm.ir.Type, name: str) -> tuple[list[int], str]:
    """Of a tensor, which is called `name`.

    Raises
    ------
    UnsupportedModelError
        it is none of static shape.
    """
    if not isinstance(ty, relax.TensorType) or not has_static_shape(ty):
        raise UnsupportedModelError(
            f"tensor {name} has type {ty}; only tensors of static shape can be planned "
            "(give the model fixed input shapes and try again)"
        )
    return [int(extent) for extent in ty.shape], str(ty.dtype)
