"""Symbolic extents as `int32` expressions of the size variables of a PrimFunc."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from tvm import tirx
from tvm.ir import PointerType, Var

Extent: TypeAlias = "int | tirx.Expr"

_OPERATIONS: dict[type, Callable[[tirx.Expr, tirx.Expr], tirx.Expr]] = {
    tirx.Add: lambda a, b: a + b,
    tirx.Sub: lambda a, b: a - b,
    tirx.Mul: lambda a, b: a * b,
    tirx.FloorDiv: tirx.floordiv,
    tirx.FloorMod: tirx.floormod,
    tirx.Max: tirx.max,
    tirx.Min: tirx.min,
}


def in_int32(extent: Extent, variables: Mapping[str, tirx.Expr]) -> tirx.Expr:
    """Return an extent in `int32`, with its variables replaced.

    Parameters
    ----------
    extent
        an expression of constants, variables, sums, differences, products, floor quotients, floor
        remainders, minima and maxima.
    variables
        `int32` expressions or constants that replace variables, by name.

    Raises
    ------
    ValueError
        the extent is another expression, or has another variable.
    """
    if isinstance(extent, int | tirx.IntImm):
        return tirx.IntImm("int32", int(extent))
    if isinstance(extent, Var):
        if extent.name not in variables:
            raise ValueError(f"extent {extent} is no size that runs are given")
        return variables[extent.name]
    if isinstance(extent, tirx.Cast):
        return in_int32(extent.value, variables)
    operation = _OPERATIONS.get(type(extent))
    if operation is None:
        raise ValueError(f"extent {extent} is no expression of sizes that is known")
    return operation(in_int32(extent.a, variables), in_int32(extent.b, variables))


def has_symbolic_shapes(func: tirx.PrimFunc) -> bool:
    """Return whether a PrimFunc takes a buffer of symbolic shape, or a scalar size."""
    return any(
        not isinstance(extent, tirx.IntImm)
        for param in func.params
        if not isinstance(param.ty, PointerType)
        for extent in (param.shape if tirx.is_buffer_var(param) else [param])
    )
