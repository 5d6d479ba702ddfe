"""ONNX `MaxPool` that also says where the elements were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import relax, te, tirx
from tvm.ir import Expr

from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode
from usmp.ops.emit import call_operator, shape_of


def max_pool(node: OnnxNode) -> Expr | None:
    """The greatest elements, and the index of the first of each in the tensor as one row; TVM's
    operator if only the elements are asked for.

    With `storage_order` 1, indices count the first axis of the image fastest.
    """
    if node.outputs == 1:
        return None
    shape = shape_of(node.required(0))
    extents, rank = shape[2:], len(shape) - 2
    kernel = _numbers(node, "kernel_shape", [])
    strides, dilations = (_numbers(node, n, [1] * rank) for n in ("strides", "dilations"))
    pads = _numbers(node, "pads", [0] * 2 * rank)
    if not len(kernel) == len(strides) == len(dilations) == len(pads) / 2 == rank:
        raise NotSupported("its attributes are not of as many axes as its input")
    if min(*strides, *dilations, *kernel) < 1:
        raise NotSupported("its kernel, strides and dilations are not all positive")
    if node.attributes.get("ceil_mode", 0):
        raise NotSupported("with indices, ceil_mode must be 0")
    reach = [(taps - 1) * step for taps, step in zip(kernel, dilations, strict=True)]
    sizes = [
        (extent + before + after - far - 1) // stride + 1
        for extent, before, after, far, stride in zip(
            extents, pads[:rank], pads[rank:], reach, strides, strict=True
        )
    ]
    by_column = bool(node.attributes.get("storage_order", 0))

    def compute(data: te.Tensor) -> list[te.Tensor]:
        taps = [te.reduce_axis((0, count), f"tap{i}") for i, count in enumerate(kernel)]

        def element(*at: tirx.Var) -> Any:
            places = [
                i * stride + tap.var * step - before
                for i, stride, tap, step, before in zip(
                    at[2:], strides, taps, dilations, pads[:rank], strict=True
                )
            ]
            inside = tirx.all(
                *(tirx.And(p >= 0, p < e) for p, e in zip(places, extents, strict=True))
            )
            index = _index([*at[:2], *places], shape, by_column)
            value = tirx.if_then_else(inside, data(*at[:2], *places), tirx.const(0, data.dtype))
            return reducer((tirx.Select(inside, index, tirx.IntImm("int64", -1)), value), axis=taps)

        first, greatest = te.compute([*shape[:2], *sizes], element, name="greatest")
        return [
            te.compute(first.shape, lambda *at: greatest(*at), name="values"),
            te.compute(first.shape, lambda *at: first(*at), name="indices"),
        ]

    def part(number: int) -> Expr:
        name = ("max_pool", "max_pool_indices")[number]
        call = call_operator(node.builder, name, lambda d: compute(d)[number], [node.required(0)])
        emitted: Expr = node.builder.emit(call)
        return emitted

    reducer = te.comm_reducer(
        lambda old, new: _better(old, new),
        lambda place, value: (tirx.const(-1, place), tirx.const(0, value)),
        name="max_pool",
    )
    return relax.Tuple([part(0), part(1)])


def _numbers(node: OnnxNode, name: str, default: list[int]) -> list[int]:
    return [int(number) for number in node.attributes.get(name, default)]


def _index(place: list[tirx.Expr], shape: Sequence[int], by_column: bool) -> tirx.Expr:
    axes = list(range(len(shape)))
    if by_column:
        axes[2:] = reversed(axes[2:])
    index: tirx.Expr = tirx.IntImm("int64", 0)
    for axis in axes:
        index = index * shape[axis] + place[axis].astype("int64")
    return index


def _better(
    old: tuple[tirx.Expr, tirx.Expr], new: tuple[tirx.Expr, tirx.Expr]
) -> tuple[tirx.Expr, tirx.Expr]:
    """The old place and value, or the new ones; the padding has no place."""
    is_taken = tirx.all(new[0] >= 0, tirx.any(old[0] < 0, new[1] > old[1]))
    return tirx.Select(is_taken, new[0], old[0]), tirx.Select(is_taken, new[1], old[1])
