"""The values of integer expressions in all iterations of the loops around them, as arrays.

An array has one axis for each loop, outermost first, and a last axis for the lanes of vectors. An
axis along which the value is constant has one element. Loaded values and overflows are unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import Call, PrimType

from usmp.analysis.memory.addresses import is_constant
from usmp.support.found import Found
from usmp.tir.dtypes import dtype_of
from usmp.tir.identity import identity
from usmp.tir.op_names import is_op
from usmp.tir.walk_expressions import ExprCallbacks, walk_expressions

Values = npt.NDArray[np.int64]
Truth = npt.NDArray[np.bool_]

MOST_VALUES = 1 << 20
"""Most values of one expression; an expression with more values is unknown."""

_INT64 = np.iinfo(np.int64)


class NotKnown(Exception):
    """The value is unknown at compile time."""


class Bindings(dict[tirx.Var, tirx.Expr]):
    """Variables of `Bind` and `Let`, with their values."""

    def __init__(self) -> None:
        super().__init__()
        self._found: dict[int, tuple[tirx.Expr, frozenset[tirx.Var]]] = {}
        self.found = Found()
        """A cache of facts about expressions, used after all variables are bound."""

    def variables_of(self, expr: tirx.Expr) -> frozenset[tirx.Var]:
        """Return `variables_of` an expression, cached; call it after all variables are bound."""
        key = identity(expr)
        if key not in self._found:
            # Keep the expression alive, so that no other object gets its identity.
            self._found[key] = expr, frozenset(variables_of(expr, self))
        return self._found[key][1]


@dataclass(frozen=True)
class Definitions:
    """The values of variables in some iterations of a loop nest.

    Parameters
    ----------
    axes
        number of axes of all arrays.
    loops
        values of loop variables in these iterations, by identity of the variable.
    bound
        variables of `Bind` and `Let`, with their expressions.
    """

    axes: int
    loops: Mapping[int, Values]
    bound: Mapping[tirx.Var, tirx.Expr]
    _known: dict[int, Values | None] = field(default_factory=dict)

    def of(self, var: tirx.Var) -> Values:
        """Return the values of a variable, or raise `NotKnown`."""
        key = identity(var)
        if key in self.loops:
            return self.loops[key]
        if key not in self._known:
            bound = self.bound.get(var)
            if bound is None:
                raise NotKnown
            self._known[key] = known_values(bound, self)
        values = self._known[key]
        if values is None:
            raise NotKnown
        return values


def known_values(expr: tirx.Expr, definitions: Definitions) -> Values | None:
    """Return the values of an integer expression; None if they are unknown."""
    try:
        return _values(expr, definitions)
    except (NotKnown, RecursionError):
        return None


def may_be(condition: tirx.Expr, truth: bool, definitions: Definitions) -> Truth | None:
    """Return the iterations in which a condition may be true (or false, if `truth` is false); None
    means all. An unknown condition may be either."""
    if isinstance(condition, tirx.Not):
        return may_be(condition.a, not truth, definitions)
    if isinstance(condition, tirx.And | tirx.Or):
        a, b = (may_be(part, truth, definitions) for part in (condition.a, condition.b))
        if isinstance(condition, tirx.And) == truth:
            return both(a, b)
        return None if a is None or b is None or not fits(a, b) else a | b
    if is_op(condition, _LIKELY):
        return may_be(condition.args[0], truth, definitions)
    try:
        known = _values(condition, definitions) != 0
    except NotKnown:
        return None
    return np.asarray(known == truth)


def both(a: Truth | None, b: Truth | None) -> Truth | None:
    """Return where both `a` and `b` are true; None means everywhere."""
    if a is None or b is None:
        return b if a is None else a
    # If the result is too large, return only `a`: it is true more often, which is conservative.
    return a & b if fits(a, b) else a


def without_lanes(truth: Truth) -> Truth:
    """Return where `truth` is true in any lane."""
    return np.asarray(truth.any(axis=-1, keepdims=True))


def _broadcast_size(*arrays: npt.NDArray[Any]) -> int:
    """Return the number of elements of an elementwise operation on the arrays."""
    return prod(np.broadcast_shapes(*(array.shape for array in arrays)))


def fits(*arrays: npt.NDArray[Any]) -> bool:
    """Return whether an elementwise operation on the arrays has at most `MOST_VALUES` elements."""
    # Try the product of sizes first, because it is cheap and nearly always small enough.
    most = prod(array.size for array in arrays)
    return most <= MOST_VALUES or _broadcast_size(*arrays) <= MOST_VALUES


def _check_size(*arrays: npt.NDArray[Any]) -> None:
    if not fits(*arrays):
        raise NotKnown


def variables_of(expr: tirx.Expr, bound: Mapping[tirx.Var, tirx.Expr]) -> set[tirx.Var]:
    """Return the variables on which a value depends, directly or through bound variables."""
    if is_constant(expr):
        return set()
    variables: set[tirx.Var] = set()
    pending: list[tirx.Var] = []

    def on_variable(var: tirx.Var) -> tvm_ffi.WalkResult:
        pending.append(var)
        # The type of a buffer has a shape, which may contain further variables.
        is_number = isinstance(var.ty, PrimType)
        return tvm_ffi.WalkResult.SKIP if is_number else tvm_ffi.WalkResult.ADVANCE

    callbacks: ExprCallbacks = {tirx.Var: on_variable}
    walk_expressions([expr], callbacks)
    while pending:
        var = pending.pop()
        if var not in variables:
            variables.add(var)
            if var in bound:
                walk_expressions([bound[var]], callbacks)
    return variables


def _values(expr: tirx.Expr, definitions: Definitions) -> Values:
    evaluate = _EVALUATE.get(type(expr))
    if evaluate is None:
        raise NotKnown
    return _wrapped(evaluate(expr, definitions), expr)


def _wrapped(values: Values, expr: tirx.Expr) -> Values:
    """Return the values as the type of the expression represents them. Casts wrap. Signed integers
    must not overflow, and C computes narrow ones as int: a result out of range is unknown."""
    # Skip the check for a small number, which every integer type represents.
    if values.size == 1 and 0 <= values.item() < 128 and type(expr) is not tirx.Cast:
        return values
    name = element_type(dtype_of(expr))
    if name == "int32":
        if values.size and not (values.min() >= -(2**31) and values.max() < 2**31):
            raise NotKnown
        return values
    if name in ("int64", "bool") or not values.size:
        return values
    if name in ("int8", "int16", "uint8", "uint16", "uint32"):
        wrapped = values.astype(name).astype(np.int64)
        if (
            not isinstance(expr, tirx.Cast)
            and name != "uint32"
            and not np.array_equal(wrapped, values)
        ):
            raise NotKnown
        return wrapped
    raise NotKnown


@cache
def element_type(dtype: str) -> str:
    """Return the element type of a vector type."""
    return str(tvm.DataType(dtype).with_lanes(1))


def _constant(expr: tirx.IntImm, definitions: Definitions) -> Values:
    value = int(expr)
    if not -(2**62) < value < 2**62:
        raise NotKnown
    return np.full((1,) * definitions.axes, value, np.int64)


def _variable(expr: tirx.Var, definitions: Definitions) -> Values:
    return definitions.of(expr)


def _let(expr: tirx.Let, definitions: Definitions) -> Values:
    bound = {**definitions.bound, expr.var: expr.value}
    return _values(expr.body, Definitions(definitions.axes, definitions.loops, bound))


def _cast(expr: tirx.Cast, definitions: Definitions) -> Values:
    values = _values(expr.value, definitions)
    return (values != 0).astype(np.int64) if dtype_of(expr) == "bool" else values


def _ramp(expr: tirx.Ramp, definitions: Definitions) -> Values:
    if not isinstance(expr.lanes, tirx.IntImm | int):
        raise NotKnown
    base, stride = _values(expr.base, definitions), _values(expr.stride, definitions)
    if base.shape[-1] != 1 or stride.shape[-1] != 1:
        raise NotKnown
    lanes = np.arange(int(expr.lanes), dtype=np.int64)
    _check_size(base, stride, lanes)
    return base + _product(stride, lanes)


def _broadcast(expr: tirx.Broadcast, definitions: Definitions) -> Values:
    return _values(expr.value, definitions)


def _choose(condition: tirx.Expr, a: tirx.Expr, b: tirx.Expr, definitions: Definitions) -> Values:
    parts = [_values(part, definitions) for part in (condition, a, b)]
    _check_size(*parts)
    return np.where(parts[0] != 0, parts[1], parts[2])


def _select(expr: tirx.Select, definitions: Definitions) -> Values:
    return _choose(expr.condition, expr.true_value, expr.false_value, definitions)


_LIKELY = "prim.likely"


def _call(expr: Call, definitions: Definitions) -> Values:
    if is_op(expr, _LIKELY):
        return _values(expr.args[0], definitions)
    if is_op(expr, "prim.if_then_else"):
        condition, a, b = expr.args
        return _choose(condition, a, b, definitions)
    raise NotKnown


def _binary(
    operation: Callable[[Values, Values], Any], wants_no_zero: bool = False
) -> Callable[[Any, Definitions], Values]:
    def evaluate(expr: Any, definitions: Definitions) -> Values:
        a, b = _values(expr.a, definitions), _values(expr.b, definitions)
        _check_size(a, b)
        if wants_no_zero and not b.all():
            raise NotKnown
        return np.asarray(operation(a, b), np.int64)

    return evaluate


def _product(a: Values, b: Values) -> Values:
    if a.size and b.size and int(np.abs(a).max()) * int(np.abs(b).max()) > _INT64.max:
        raise NotKnown
    return np.asarray(a * b)


def _truncated_quotient(a: Values, b: Values) -> Values:
    quotient: Values = np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))
    return quotient


def _shifted(operation: Callable[[Values, Values], Values]) -> Callable[[Values, Values], Values]:
    def shift(a: Values, b: Values) -> Values:
        if b.size and not 0 <= b.min() <= b.max() < 31:
            raise NotKnown
        return operation(a, b)

    return shift


def _not(expr: tirx.Not, definitions: Definitions) -> Values:
    return np.asarray(_values(expr.a, definitions) == 0, np.int64)


_EVALUATE: dict[type, Callable[[Any, Definitions], Values]] = {
    tirx.IntImm: _constant,
    tirx.Var: _variable,
    tirx.Let: _let,
    tirx.Cast: _cast,
    tirx.Ramp: _ramp,
    tirx.Broadcast: _broadcast,
    tirx.Select: _select,
    Call: _call,
    tirx.Add: _binary(np.add),
    tirx.Sub: _binary(np.subtract),
    tirx.Mul: _binary(_product),
    tirx.FloorDiv: _binary(np.floor_divide, wants_no_zero=True),
    tirx.FloorMod: _binary(np.mod, wants_no_zero=True),
    tirx.Div: _binary(_truncated_quotient, wants_no_zero=True),
    tirx.Mod: _binary(lambda a, b: a - b * _truncated_quotient(a, b), wants_no_zero=True),
    tirx.LShift: _binary(_shifted(lambda a, b: _product(a, 1 << b))),
    tirx.RShift: _binary(_shifted(np.right_shift)),
    tirx.BitwiseAnd: _binary(np.bitwise_and),
    tirx.BitwiseOr: _binary(np.bitwise_or),
    tirx.BitwiseXor: _binary(np.bitwise_xor),
    tirx.Min: _binary(np.minimum),
    tirx.Max: _binary(np.maximum),
    tirx.LT: _binary(np.less),
    tirx.LE: _binary(np.less_equal),
    tirx.GT: _binary(np.greater),
    tirx.GE: _binary(np.greater_equal),
    tirx.EQ: _binary(np.equal),
    tirx.NE: _binary(np.not_equal),
    tirx.And: _binary(np.logical_and),
    tirx.Or: _binary(np.logical_or),
    tirx.Not: _not,
}
