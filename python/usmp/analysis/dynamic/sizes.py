"""Sizes in bytes of allocations of dynamic size, as expressions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import Any

from tvm import tirx
from tvm.ir import Call, Op, StringImm, TensorLoad, Var

from usmp.analysis.buffer_extraction import PLANNED_SCOPES
from usmp.analysis.integers.integer_ranges import IntegerRanges, type_range
from usmp.analysis.memory.buffer_size import has_static_size
from usmp.objects.attributes.annotations import CONSTANT_DATA_ATTR
from usmp.tir.dtypes import item_bytes
from usmp.tir.intrinsics import arithmetic_function, size_function
from usmp.tir.nodes import is_const_int, nodes_of

_INT64 = "int64"
_OPERATIONS: dict[type, str] = {
    tirx.Add: "add",
    tirx.Sub: "subtract",
    tirx.Mul: "multiply",
    tirx.FloorDiv: "floor_divide",
}
_CHOICES = (tirx.Min, tirx.Max, tirx.FloorMod)
_CALLED = {
    arithmetic_function(name, dtype): operation
    for operation, name in _OPERATIONS.items()
    for dtype in ("int32", _INT64)
}
"""Functions to which `usmp.transform.DefineArithmetic` lowers these operations."""


def is_dynamic(stmt: tirx.AllocBuffer) -> bool:
    """Return whether an allocation in planned memory has a size that is known only at run time."""
    return stmt.buffer.scope() in PLANNED_SCOPES and not has_static_size(stmt.buffer)


def size_variables(buffer: tirx.Buffer) -> list[Var]:
    """Return the variables in the shape of a buffer, except buffers, in program order."""
    variables = chain.from_iterable(nodes_of(extent, Var) for extent in buffer.shape[:])
    return list(dict.fromkeys(var for var in variables if not tirx.is_buffer_var(var)))


@dataclass(frozen=True)
class DynamicSize:
    """The size of an allocation.

    Parameters
    ----------
    elements
        number of elements, as an int64; the smallest int64 where the computation overflows.
    item_bytes
        bytes of an element.
    least_elements, most_elements
        limits beyond which the bytes overflow an int64, or an index of 32 bits; None where
        `elements` cannot exceed the limit. A negative number within them gives negative bytes.
    """

    elements: tirx.Expr
    item_bytes: int
    least_elements: int | None
    most_elements: int | None

    @property
    def has_limits(self) -> bool:
        """Whether `elements` may exceed one of the limits."""
        return self.least_elements is not None or self.most_elements is not None

    def size_bytes(self, elements: tirx.Expr) -> tirx.Expr:
        """Return the bytes of `elements` elements, as an int64; negative if the size is invalid."""
        size = elements * tirx.IntImm(_INT64, self.item_bytes) if self.item_bytes > 1 else elements
        conditions = []
        if self.least_elements is not None:
            conditions.append(elements >= tirx.IntImm(_INT64, self.least_elements))
        if self.most_elements is not None:
            conditions.append(elements <= tirx.IntImm(_INT64, self.most_elements))
        if not conditions:
            return size
        return tirx.if_then_else(reduce(tirx.And, conditions), size, tirx.IntImm(_INT64, -1))


def dynamic_size(stmt: tirx.AllocBuffer, function: str) -> DynamicSize:
    """Return the size of an allocation of dynamic size.

    Extents are computed in 64 bits. A size is invalid where it is negative, where it overflows 64
    bits, and where elements of a buffer with 32-bit indices would be out of reach of an index.

    Parameters
    ----------
    stmt
        the allocation.
    function
        the name of its PrimFunc, for errors.

    Raises
    ------
    ValueError
        a constant, elements of scalable vectors, elements that are not contiguous, or an extent
        with operations besides sums, differences, products, quotients, remainders, minima and
        maxima of variables and loads.
    """
    buffer = stmt.buffer
    prefix = f"{function}: buffer {buffer.name}, whose size only the run knows,"
    if CONSTANT_DATA_ATTR.is_on(stmt):
        raise ValueError(f"{prefix} is a constant; constants have the size of their data")
    if "vscale" in str(buffer.dtype):
        raise ValueError(f"{prefix} has scalable vectors, whose bytes only the processor knows")
    offset = buffer.elem_offset
    if buffer.strides[:] or not (offset is None or is_const_int(offset, 0)):
        raise ValueError(
            f"{prefix} has strides or an element offset; declare it without them, and a view of it "
            "(T.decl_buffer) with them"
        )
    widening = _Widening(prefix)
    elements = tirx.IntImm(_INT64, 1)
    for extent in buffer.shape[:]:
        elements = widening.combine(tirx.Mul, elements, widening.widen(extent))
    low, high = widening.ranges.of(elements)
    size = max(item_bytes(str(buffer.dtype)), 1)
    highest_index = min(type_range(str(extent.ty.dtype))[1] for extent in buffer.shape[:])
    most = min(highest_index, type_range(_INT64)[1] // size)
    is_low = low * size < type_range(_INT64)[0]
    return DynamicSize(elements, size, 0 if is_low else None, most if high > most else None)


class _Widening:
    """A rewriter of expressions into 64 bits, with checked functions where they may overflow.

    Parameters
    ----------
    what
        the subject of errors.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.ranges = IntegerRanges()

    def widen(self, expr: Any) -> tirx.Expr:
        """Return `expr` with all of its operations in 64 bits."""
        if isinstance(expr, tirx.IntImm):
            return tirx.IntImm(_INT64, int(expr))
        if isinstance(expr, Var | TensorLoad):
            return expr if str(expr.ty.dtype) == _INT64 else tirx.Cast(_INT64, expr)
        if isinstance(expr, tirx.Cast) and str(expr.ty.dtype) in ("int32", _INT64):
            return self.widen(expr.value)
        operation: type = type(expr)
        is_known = operation in (*_OPERATIONS, *_CHOICES)
        operands: list[Any] = [expr.a, expr.b] if is_known else []
        if isinstance(expr, Call) and isinstance(expr.op, Op) and expr.args:
            name = expr.args[0].value if isinstance(expr.args[0], StringImm) else ""
            if name in _CALLED:
                operation, operands = _CALLED[name], list(expr.args[1:])
        if len(operands) != 2:
            raise ValueError(
                f"{self.what} has an extent that cannot be computed without overflow: {expr}; "
                "write it with +, -, *, //, %, min and max"
            )
        return self.combine(operation, *map(self.widen, operands))

    def combine(self, operation: type, a: tirx.Expr, b: tirx.Expr) -> tirx.Expr:
        """Return an operation on two operands of 64 bits."""
        if operation in _CHOICES:
            is_exact = not any(map(_may_not_fit, (a, b))) or operation is tirx.Min
            if not is_exact or (operation is tirx.FloorMod and self.ranges.of(b)[0] <= 0):
                raise ValueError(
                    f"{self.what} has a maximum or a remainder in its extent of what may leave 64 "
                    f"bits, or by what may not be positive: {operation(a, b)}; compute it before, "
                    "in a variable"
                )
            return operation(a, b)
        if operation is tirx.Mul and is_const_int(a, 1):
            return b
        plain = operation(a, b)
        if not any(map(_may_not_fit, (a, b))) and self._fits(plain):
            return plain
        return tirx.call_pure_extern(_INT64, size_function(_OPERATIONS[operation]), a, b)

    def _fits(self, expr: tirx.Expr) -> bool:
        """Return whether C and TIR compute the same value for all operands."""
        if isinstance(expr, tirx.FloorDiv):
            return self.ranges.of(expr.b)[0] > 0
        return self.ranges.fits(expr)


def _may_not_fit(expr: tirx.Expr) -> bool:
    """Return whether an expression may be the smallest int64 because of an overflow."""
    functions = {size_function(name) for name in _OPERATIONS.values()}
    return any(
        isinstance(call.args[0], StringImm) and call.args[0].value in functions
        for call in nodes_of(expr, Call)
    )
