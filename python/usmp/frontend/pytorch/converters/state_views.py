"""Views of states: tensors that only rearrange or scale a state, and need no memory.

A cache of keys is transposed, repeated for groups of heads, and scaled. If materialized, each of
these tensors would be at least as large as the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tvm import relax, tirx
from tvm.ir import Call, Expr, GenericConst

from usmp.frontend.pytorch.converters.operator import Operator, rank_of
from usmp.ops.emit import extents_of, shape_of
from usmp.ops.views import RESHAPES, order_of

Position: TypeAlias = Sequence[Any]
_STEPS = frozenset(
    {*RESHAPES, "relax.permute_dims", "relax.broadcast_to", "relax.take", "relax.multiply"}
)


@dataclass(frozen=True)
class StateView:
    """A rearranged tensor, times a factor.

    Parameters
    ----------
    source
        the tensor that is read.
    position
        maps the position of an element to its position in `source`.
    factor
        a scalar constant, or None for 1.
    """

    source: Expr
    position: Callable[[Position], Position] = tuple
    factor: Expr | None = None

    def element(self, source: Any, position: Position) -> tirx.Expr:
        """Return an element of a `te.Tensor` or a buffer, without the factor."""
        return source[tuple(self.position(position))]


def state_view(operator: Operator, tensor: Expr) -> StateView | None:
    """Return a tensor as a view of a state; None if it is no view, a state, or scaled twice."""
    if not operator.states:
        return None
    maps: list[Callable[[Position], Position]] = []
    factors: list[Expr] = []
    while not operator.is_state(tensor):
        value = operator.builder.lookup_binding(tensor) if isinstance(tensor, relax.Var) else None
        if isinstance(value, relax.Var):
            tensor = value
            continue
        step = _step(value, tensor) if isinstance(value, Call) else None
        if value is None or step is None:
            return None
        maps.append(step)
        factors += value.args[1:] if value.op.name == "relax.multiply" else []
        tensor = value.args[0]
    if not maps or len(factors) > 1:
        return None

    def position(place: Position) -> Position:
        for step in maps:
            place = step(place)
        return place

    return StateView(tensor, position, factors[0] if factors else None)


def _step(value: Call, result: Expr) -> Callable[[Position], Position] | None:
    """Return the map from positions in a call's result to positions in its first argument; None if
    the call does more than moving and scaling elements."""
    name = getattr(value.op, "name", "")
    if name not in _STEPS or not (_is_static(value.args[0]) and _is_static(result)):
        return None
    if name in RESHAPES:
        return _reshaped(shape_of(value.args[0]), shape_of(result))
    if name == "relax.permute_dims":
        order = order_of(value)
        return lambda place: [place[order.index(axis)] for axis in range(len(order))]
    if name == "relax.broadcast_to":
        shape = shape_of(value.args[0])
        return lambda place: [
            0 if extent == 1 else index
            for extent, index in zip(shape, place[len(place) - len(shape) :], strict=True)
        ]
    if name == "relax.take" and isinstance(value.args[1], GenericConst):
        index = value.args[1].value.numpy()
        axis = value.attrs.axis
        if index.ndim or axis is None:
            return None
        selected, at = int(index), int(axis) % rank_of(value.args[0])
        if not 0 <= selected < shape_of(value.args[0])[at]:
            return None
        return lambda place: [*place[:at], selected, *place[at:]]
    is_scale = name == "relax.multiply" and isinstance(value.args[1], GenericConst)
    if is_scale and not rank_of(value.args[1]):
        return lambda place: place
    return None


def _is_static(tensor: Expr) -> bool:
    return all(isinstance(extent, int) for extent in extents_of(tensor))


def _reshaped(shape: Sequence[int], result: Sequence[int]) -> Callable[[Position], Position]:
    """Return the map from positions in the shape `result` to positions in `shape`."""

    def position(place: Position) -> Position:
        flat: Any = 0
        for extent, index in zip(result, place, strict=True):
            flat = flat * extent + index
        indices = []
        for extent in reversed(shape):
            indices.append(tirx.indexmod(flat, extent))
            flat = tirx.indexdiv(flat, extent)
        return indices[::-1]

    return position
