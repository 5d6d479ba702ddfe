"""The first elements along an axis in descending or ascending order, and their positions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from tvm import relax, tirx
from tvm.script import tirx as T

from usmp.ops.emit import shape_of
from usmp.ops.real.order import PlaceOfNan, equals, precedes

Before = Callable[[tirx.Expr, tirx.Expr], tirx.Expr]


def top_elements(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    axis: int,
    count: int,
    largest: bool,
    nan: PlaceOfNan = "anywhere",
    place_type: str = "int64",
) -> list[relax.Expr]:
    """Return the `count` largest or smallest elements, in order, and positions as `place_type`.

    Each search finds the successor of the previous element, which needs no memory. Equal elements
    keep their order.

    Parameters
    ----------
    nan
        position of NaN in the order.
    """
    shape, dtype = shape_of(data), str(data.ty.dtype)
    outer, depth, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    is_before = partial(precedes, is_largest=largest, nan=nan)
    is_equal = equals if nan != "anywhere" else lambda a, b: a == b
    function = _function((outer, depth, inner), count, (dtype, place_type), is_before, is_equal)
    rows = builder.emit(relax.op.reshape(data, (outer, depth, inner)))
    types = [relax.TensorType((outer, count, inner), t) for t in (dtype, place_type)]
    callee = builder.add_func(function, "top_k")
    outputs = builder.emit(relax.call_tir(callee, [rows], out_ty=types))
    results = [*shape[:axis], count, *shape[axis + 1 :]]
    return [
        builder.emit(relax.op.reshape(relax.TupleGetItem(outputs, index), results))
        for index in (0, 1)
    ]


def _function(
    shape: tuple[int, int, int],
    count: int,
    types: tuple[str, str],
    is_before: Before,
    is_equal: Before,
) -> tirx.PrimFunc:
    """Return the PrimFunc that finds the `count` first elements along the middle axis."""
    (outer, depth, inner), (dtype, place_type) = shape, types

    def is_next(
        value: tirx.Expr, place: tirx.Expr, last: tirx.Expr, last_place: tirx.Expr
    ) -> tirx.Expr:
        """Return whether an element comes after the previous result."""
        is_later = tirx.all(is_equal(value, last), place > last_place)
        return tirx.any(last_place < 0, is_before(last, value), is_later)

    @T.prim_func(s_tir=True, private=True)  # type: ignore[untyped-decorator]
    def top_k(
        data: T.Buffer((outer, depth, inner), dtype),  # type: ignore[valid-type]
        elements: T.Buffer((outer, count, inner), dtype),  # type: ignore[valid-type]
        places: T.Buffer((outer, count, inner), place_type),  # type: ignore[valid-type]
    ) -> None:
        for i, j in T.grid(outer, inner):
            with T.sblock("row"):
                row, column = T.axis.remap("SS", [i, j])
                last = T.sblock_alloc_buffer((1,), "int32", scope="local")
                best = T.sblock_alloc_buffer((1,), "int32", scope="local")
                last[0] = -1
                for k in range(count):
                    best[0] = -1
                    for step in range(depth):
                        if is_next(
                            data[row, step, column],
                            step,
                            data[row, T.max(last[0], 0), column],
                            last[0],
                        ) and (
                            best[0] < 0
                            or is_before(
                                data[row, step, column], data[row, T.max(best[0], 0), column]
                            )
                        ):
                            best[0] = step
                    # With NaN "anywhere", there may be no next element: take the first one.
                    last[0] = T.max(best[0], 0)
                    elements[row, k, column] = data[row, last[0], column]
                    places[row, k, column] = T.Cast(place_type, last[0])

    function: tirx.PrimFunc = top_k
    return function
