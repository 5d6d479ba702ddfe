"""The largest and smallest elements over axes and in windows, and their first positions.

TVM's reductions of floats start from a finite number, which remains if all elements are infinite,
as in the rows of a mask. TVM has no such reductions of booleans.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tvm import relax, te, tirx
from tvm.ir import Call, Expr

from usmp.ops.emit import call_operator, dtype_of, shape_of
from usmp.ops.real.order import PlaceOfNan, extreme_element, precedes
from usmp.tir.dtypes import is_float

Pair = tuple[tirx.Expr, tirx.Expr]
"""The position of an element, -1 before the first one, and the element itself."""


def extreme(
    builder: relax.BlockBuilder,
    data: Expr,
    axes: Sequence[int],
    *,
    is_largest: bool,
    keeps_axes: bool = False,
    propagates_nan: bool = False,
) -> Expr:
    """Return the largest or smallest elements of floats or booleans over axes.

    Parameters
    ----------
    axes
        reduced axes, counted from the start.
    keeps_axes
        whether the result has these axes, of extent 1.
    propagates_nan
        whether a NaN among the elements makes the result NaN; else the result is arbitrary.
    """

    def compute(data: te.Tensor) -> te.Tensor:
        dtype = str(data.dtype)
        reducer = _reducer(dtype, is_largest, propagates_nan)
        reduced = {axis: te.reduce_axis((0, data.shape[axis]), f"k{axis}") for axis in axes}

        def element(*at: tirx.Var) -> tirx.Expr:
            kept = iter([i for d, i in enumerate(at) if not (keeps_axes and d in reduced)])
            place = [reduced[d] if d in reduced else next(kept) for d in range(len(data.shape))]
            return reducer(data(*place), axis=list(reduced.values()))

        shape = [
            1 if axis in reduced else extent
            for axis, extent in enumerate(data.shape)
            if keeps_axes or axis not in reduced
        ]
        return te.compute(shape, element, "extreme")

    return builder.call_te(compute, data, primfunc_name_hint="max" if is_largest else "min")


def _reducer(dtype: str, is_largest: bool, propagates_nan: bool) -> Callable[..., tirx.Expr]:
    better: Callable[..., tirx.Expr] = tirx.max if is_largest else tirx.min
    if propagates_nan:

        def better(a: tirx.Expr, b: tirx.Expr) -> tirx.Expr:
            return extreme_element(a, b, is_largest)

    if dtype == "bool":
        better = tirx.any if is_largest else tirx.all
    reducer: Callable[..., tirx.Expr] = te.comm_reducer(
        lambda old, new: better(old, new), lambda _: _worst(dtype, is_largest), "extreme"
    )
    return reducer


def _worst(dtype: str, is_largest: bool) -> tirx.Expr:
    """Return the initial value of the reduction, which every other element replaces."""
    if dtype == "bool":
        return tirx.const(not is_largest, dtype)
    if is_float(dtype):
        return tirx.const(-math.inf if is_largest else math.inf, dtype)
    return tirx.min_value(dtype) if is_largest else tirx.max_value(dtype)


def _legalize_extreme(builder: relax.BlockBuilder, call: Call) -> Expr:
    """Rewrite `R.max` and `R.min`."""
    data = call.args[0]
    if not is_float(dtype_of(data)) and dtype_of(data) != "bool":
        return call.op.get_attr("FLegalize")(builder, call)
    rank = len(data.ty.shape)
    numbers = range(rank) if call.attrs.axis is None else call.attrs.axis
    axes = sorted(int(axis) % rank for axis in numbers)
    return extreme(
        builder,
        data,
        axes,
        is_largest=call.op.name == "relax.max",
        keeps_axes=bool(call.attrs.keepdims),
    )


def first_extreme(
    builder: relax.BlockBuilder,
    data: Expr,
    axis: int,
    dtype: str,
    *,
    is_largest: bool,
    keeps_axis: bool = False,
    nan: PlaceOfNan = "anywhere",
) -> Expr:
    """Return the position along an axis of the first largest or smallest element, as `dtype`.

    The search starts with the first element. With `nan` "anywhere", NaN is found only if it is the
    first element, because comparisons with NaN are false.

    Parameters
    ----------
    keeps_axis
        whether the result has the axis, of extent 1.
    nan
        position of NaN in the order.
    """
    shape = shape_of(data)
    axis %= len(shape)
    name = "argmax" if is_largest else "argmin"
    kept = [*shape]
    kept[axis : axis + 1] = [1] if keeps_axis else []
    reducer = _first_reducer(is_largest, nan)

    def compute(data: te.Tensor) -> te.Tensor:
        step = te.reduce_axis((0, shape[axis]), "step")

        def element(*at: tirx.Var) -> Any:
            others = [*at[:axis], *at[axis + 1 :]] if keeps_axis else list(at)
            others.insert(axis, step)
            return reducer((step.var.astype(dtype), data(*others)), axis=step)

        places, _ = te.compute(kept, element, name="extreme")
        # Read one of the two results, so that only one element of each is stored at a time.
        return te.compute(kept, lambda *at: places(*at), name=name)

    return builder.call_te(compute, data, primfunc_name_hint=name)


def _first_reducer(
    is_largest: bool, nan: PlaceOfNan = "anywhere", has_padding: bool = False
) -> Callable[..., Any]:
    """Return a reducer that computes the first extreme element and its position.

    Parameters
    ----------
    has_padding
        whether elements with a negative position are skipped.
    """

    def better(old: Pair, new: Pair) -> Pair:
        is_taken = tirx.any(old[0] < 0, precedes(new[1], old[1], is_largest, nan))
        if has_padding:
            is_taken = tirx.all(new[0] >= 0, is_taken)
        return tirx.Select(is_taken, new[0], old[0]), tirx.Select(is_taken, new[1], old[1])

    reducer: Callable[..., Any] = te.comm_reducer(
        better, lambda place, value: (tirx.const(-1, place), tirx.const(0, value)), "first_extreme"
    )
    return reducer


def _legalize_first_extreme(builder: relax.BlockBuilder, call: Call) -> Expr:
    """Rewrite `R.argmax` and `R.argmin`.

    TVM starts from the smallest value of the type and position -1, which remain if all elements
    are minus infinity or NaN.
    """
    data, axis = call.args[0], call.attrs.axis
    if axis is None:
        data, axis = builder.emit(relax.op.flatten(data)), 0
    return first_extreme(
        builder,
        data,
        int(axis),
        dtype_of(call),
        is_largest=call.op.name == "relax.argmax",
        keeps_axis=bool(call.attrs.keepdims),
    )


LEGALIZE_EXTREMES = {
    "relax.max": _legalize_extreme,
    "relax.min": _legalize_extreme,
    "relax.argmax": _legalize_first_extreme,
    "relax.argmin": _legalize_first_extreme,
}
"""Relax operator -> its legalization, for `relax.transform.LegalizeOps`."""


def max_pool_with_places(
    builder: relax.BlockBuilder,
    data: Expr,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: tuple[Sequence[int], Sequence[int]],
    *,
    first_axis_fastest: bool = False,
) -> list[Expr]:
    """Return the largest element of each window, and its first position.

    Parameters
    ----------
    data
        [batch, channels, *image].
    kernel, strides, dilations
        extents, strides and dilations of the window, in elements along each axis of the image.
    padding
        elements before and after each of these axes.
    first_axis_fastest
        whether positions count along the first axis of the image fastest, else along the last one.

    Returns
    -------
    list[Expr]
        The elements, and their positions in the flattened tensor, int64.
    """
    shape = shape_of(data)
    extents, before = shape[2:], padding[0]
    sizes = [
        (extent + sum(pads) - (taps - 1) * step - 1) // stride + 1
        for extent, pads, taps, step, stride in zip(
            extents, zip(*padding, strict=True), kernel, dilations, strides, strict=True
        )
    ]
    order = list(range(len(shape)))
    if first_axis_fastest:
        order[2:] = reversed(order[2:])
    reducer = _first_reducer(is_largest=True, has_padding=True)

    def compute(data: te.Tensor) -> list[te.Tensor]:
        taps = [te.reduce_axis((0, count), f"tap{i}") for i, count in enumerate(kernel)]

        def element(*at: tirx.Var) -> Any:
            image = [
                i * stride + tap.var * step - pad
                for i, stride, tap, step, pad in zip(
                    at[2:], strides, taps, dilations, before, strict=True
                )
            ]
            inside = tirx.all(
                *(tirx.And(p >= 0, p < e) for p, e in zip(image, extents, strict=True))
            )
            position = [*at[:2], *image]
            place: tirx.Expr = tirx.IntImm("int64", 0)
            for axis in order:
                place = place * shape[axis] + position[axis].astype("int64")
            value = tirx.if_then_else(inside, data(*position), tirx.const(0, data.dtype))
            return reducer((tirx.Select(inside, place, tirx.IntImm("int64", -1)), value), axis=taps)

        places, greatest = te.compute([*shape[:2], *sizes], element, name="greatest")
        return [
            te.compute(places.shape, lambda *at: greatest(*at), name="values"),
            te.compute(places.shape, lambda *at: places(*at), name="indices"),
        ]

    return [
        builder.emit(call_operator(builder, name, lambda d, n=number: compute(d)[n], [data]))
        for number, name in enumerate(("max_pool", "max_pool_indices"))
    ]


def adaptive_max_pool(builder: relax.BlockBuilder, data: Expr, sizes: Sequence[int]) -> Expr:
    """Return the largest element of windows that divide the last axes into `sizes` parts.

    NaN counts as larger than every number. All windows of an axis have the length of the longest
    one: a shorter window repeats its last element.
    """
    shape, dtype = shape_of(data), dtype_of(data)
    outer, extents = shape[: -len(sizes)], shape[-len(sizes) :]
    longest = [
        max(-(-(n + 1) * extent // size) - n * extent // size for n in range(size))
        for extent, size in zip(extents, sizes, strict=True)
    ]
    reducer = te.comm_reducer(
        lambda a, b: extreme_element(a, b, is_largest=True),
        lambda _: _worst(dtype, True),
        "largest",
    )

    def compute(data: te.Tensor) -> te.Tensor:
        taps = [te.reduce_axis((0, length)) for length in longest]

        def element(*at: tirx.Var) -> tirx.Expr:
            image = [
                tirx.min(n * extent // size + tap, ((n + 1) * extent + size - 1) // size - 1)
                for n, extent, size, tap in zip(at[len(outer) :], extents, sizes, taps, strict=True)
            ]
            return reducer(data[(*at[: len(outer)], *image)], taps)

        return te.compute((*outer, *sizes), element, "output")

    return call_operator(builder, "adaptive_max_pool", compute, [data])
