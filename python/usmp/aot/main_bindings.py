"""Bindings of a Relax `main`, and last uses of variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import tvm
import tvm_ffi
from tvm import relax, tirx

from usmp.support.errors import UnsupportedModelError
from usmp.tir.size_expressions import Extent, in_int32


def bindings(main: relax.Function) -> Iterator[relax.VarBinding]:
    """Yield the bindings of variables, in order.

    Raises
    ------
    UnsupportedModelError
        a shape is only known at run time.
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
    """Return, for each Relax variable, the position of the last binding that uses it. For variables
    of the result, this is the number of bindings."""
    last: dict[tirx.Var, int] = {}
    values = [binding.value for binding in bindings(main)]
    for position, value in enumerate([*values, main.body.body]):

        def on_variable(var: tirx.Var, position: int = position) -> None:
            last[var] = position

        tvm_ffi.structural_walk(value, (tirx.Var, on_variable))
    return last


def shape_and_dtype(
    ty: tvm.ir.Type, name: str, sizes: Mapping[str, tirx.Expr]
) -> tuple[list[Extent], str]:
    """Return shape and element type of the tensor `name`.

    Parameters
    ----------
    sizes
        name of a symbolic size -> its expression.

    Raises
    ------
    UnsupportedModelError
        it is no tensor, or its shape is only known at run time.
    """
    if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr):
        raise UnsupportedModelError(
            f"tensor {name} has type {ty}; only tensors whose shape is known can be planned "
            "(give the model fixed input shapes and try again)"
        )
    try:
        shape = [
            int(extent) if isinstance(extent, tirx.IntImm) else in_int32(extent, sizes)
            for extent in ty.shape
        ]
    except ValueError as error:
        raise UnsupportedModelError(f"tensor {name} of type {ty}: {error}") from error
    return shape, str(ty.dtype)
