"""ONNX `TopK`: the largest or smallest elements along an axis, in order."""

from __future__ import annotations

import math

from tvm import relax, tirx
from tvm.ir import Expr
from tvm.script import tirx as T

from usmp.relax.onnx.node import NotSupported, OnnxNode, dtype_of
from usmp.relax.quantised.emit import shape_of


def top_k(node: OnnxNode) -> Expr:
    """Each is searched for after the one before it, which needs no memory; of equal elements the
    first one comes first, as in onnxruntime."""
    data = node.required(0)
    shape = shape_of(data)
    axis = int(node.attributes.get("axis", -1)) % len(shape)
    if node.opset < 10:
        count = int(node.attributes.get("k", 0))
    else:
        given = node.constant(1, "how many elements there will be")
        count = 0 if given is None else int(given.item())
    if not 1 <= count <= shape[axis]:
        raise NotSupported(f"{count} of {shape[axis]} elements cannot be taken")
    outer, depth, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    largest = bool(node.attributes.get("largest", 1))
    function = _function((outer, depth, inner), count, dtype_of(data), largest)
    rows = node.builder.emit(relax.op.reshape(data, (outer, depth, inner)))
    types = [relax.TensorType((outer, count, inner), t) for t in (dtype_of(data), "int64")]
    callee = node.builder.add_func(function, "top_k")
    found = node.builder.emit(relax.call_tir(callee, [rows], out_ty=types))
    results = [*shape[:axis], count, *shape[axis + 1 :]]
    return relax.Tuple(
        [
            node.builder.emit(relax.op.reshape(relax.TupleGetItem(found, index), results))
            for index in (0, 1)
        ]
    )


def _function(shape: tuple[int, int, int], count: int, dtype: str, largest: bool) -> tirx.PrimFunc:
    """The `count` best along the middle axis."""
    outer, depth, inner = shape

    def is_before(value: tirx.Expr, other: tirx.Expr) -> tirx.Expr:
        return value > other if largest else value < other

    def is_next(
        value: tirx.Expr, place: tirx.Expr, last: tirx.Expr, last_place: tirx.Expr
    ) -> tirx.Expr:
        """Whether an element comes after the last one that was found."""
        is_later = tirx.all(value == last, place > last_place)
        return tirx.any(last_place < 0, is_before(last, value), is_later)

    @T.prim_func(s_tir=True, private=True)  # type: ignore[untyped-decorator]
    def top_k(
        data: T.Buffer((outer, depth, inner), dtype),  # type: ignore[valid-type]
        elements: T.Buffer((outer, count, inner), dtype),  # type: ignore[valid-type]
        places: T.Buffer((outer, count, inner), "int64"),  # type: ignore[valid-type]
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
                    # Elements that are NaN come in no order.
                    last[0] = T.max(best[0], 0)
                    elements[row, k, column] = data[row, last[0], column]
                    places[row, k, column] = T.Cast("int64", last[0])

    function: tirx.PrimFunc = top_k
    return function
