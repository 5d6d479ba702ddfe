"""The order of elements, with a position for NaN, which is neither less nor greater."""

from __future__ import annotations

from typing import Literal

from tvm import relax, tirx
from tvm.ir import Expr, GenericConst

from usmp.ops.emit import dtype_of, extents_of
from usmp.tir.dtypes import is_float

PlaceOfNan = Literal["first", "last", "anywhere"]
"""Position of NaN in an order; "anywhere" if it does not matter."""


def precedes(a: tirx.Expr, b: tirx.Expr, is_largest: bool, nan: PlaceOfNan = "first") -> tirx.Expr:
    """Return whether an element comes before another one, in descending order if `is_largest`."""
    is_before = a > b if is_largest else a < b
    if nan == "anywhere" or not _is_float(a):
        return is_before
    first, second = (a, b) if nan == "first" else (b, a)
    return tirx.Or(is_before, tirx.And(tirx.isnan(first), tirx.Not(tirx.isnan(second))))


def equals(a: tirx.Expr, b: tirx.Expr) -> tirx.Expr:
    """Return whether two elements are equal, or both NaN."""
    if not _is_float(a):
        return a == b
    return tirx.Or(a == b, tirx.And(tirx.isnan(a), tirx.isnan(b)))


def extreme_element(a: tirx.Expr, b: tirx.Expr, is_largest: bool) -> tirx.Expr:
    """Return the larger or the smaller of two elements; NaN if one of them is NaN."""
    is_a = a > b if is_largest else a < b
    if _is_float(a):
        is_a = tirx.Or(is_a, tirx.isnan(a))
    return tirx.Select(is_a, a, b)


def extreme_of_two(a: Expr, b: Expr, is_largest: bool) -> Expr:
    """Return the elementwise maximum or minimum of two tensors; NaN if either element is NaN."""
    if dtype_of(a) == "bool":
        return (relax.op.logical_or if is_largest else relax.op.logical_and)(a, b)
    if not is_float(dtype_of(a)):
        return (relax.op.maximum if is_largest else relax.op.minimum)(a, b)
    is_b = (relax.op.less if is_largest else relax.op.greater)(a, b)
    if isinstance(b, GenericConst) and (b.value.numpy() == b.value.numpy()).all():
        # A comparison with a NaN of `a` is false, so that `a` is chosen.
        return relax.op.where(is_b, b, a)
    return relax.op.where(relax.op.isnan(b), b, relax.op.where(is_b, b, a))


def is_nan(data: Expr) -> Expr:
    """Return which elements of a tensor of any type are NaN."""
    if is_float(dtype_of(data)):
        return relax.op.isnan(data)
    shape = [tirx.IntImm("int64", e) if isinstance(e, int) else e for e in extents_of(data)]
    return relax.op.full(shape, relax.const(False, "bool"), "bool")


def _is_float(value: tirx.Expr) -> bool:
    return is_float(str(value.ty.dtype))
