"""Operators that move elements and compute nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvm import relax
from tvm.ir import Call

from usmp.ops.emit import shape_of
from usmp.relax.transform.qdq.graph import Graph

VIEWS = (
    "relax.reshape",
    "relax.flatten",
    "relax.nn.batch_flatten",
    "relax.squeeze",
    "relax.expand_dims",
)
"""They change the shape only."""
_MOVES = (
    *VIEWS,
    "relax.permute_dims",
    "relax.strided_slice",
    "relax.take",
    "relax.flip",
    "relax.tile",
    "relax.repeat",
    "relax.broadcast_to",
)


@dataclass(frozen=True)
class Move:
    """A tensor whose elements are those of another one.

    Parameters
    ----------
    source
        the other one.
    rebuild
        the same move of another tensor, in which new elements are the given integer.
    fill
        the real number that new elements are; None if there are none.
    order
        the axes of the other one in their new order, if nothing else happens to it.
    view
        its new shape, if that is all that changes.
    """

    source: relax.Expr
    rebuild: Callable[[relax.Expr, int], relax.Expr]
    fill: float | None = None
    order: tuple[int, ...] | None = None
    view: tuple[int, ...] | None = None


def move_of(graph: Graph, expr: relax.Expr) -> Move | None:
    """The move that `expr` is the result of."""
    resolved = graph.resolve(expr)
    if isinstance(resolved, relax.TupleGetItem):
        return _part(graph, resolved)
    pad = graph.call(expr, "relax.nn.pad")
    if pad is not None:
        return _pad(pad) if str(pad.attrs.pad_mode) == "constant" else _same(pad)
    resize = graph.call(expr, "relax.image.resize2d")
    if resize is not None:
        return _same(resize) if _is_nearest(resize) else None
    call = graph.call(expr, *_MOVES)
    # Beyond the end, such a take gives what no integer stands for.
    if call is None or (call.op.name == "relax.take" and str(call.attrs.mode) == "nan"):
        return None
    return _same(call)


def _same(call: Call) -> Move:
    def rebuild(value: relax.Expr, _: int) -> relax.Expr:
        return Call(call.op, [value, *call.args[1:]], call.attrs, call.ty_args)

    return Move(
        call.args[0],
        rebuild,
        order=order_of(call) if call.op.name == "relax.permute_dims" else None,
        view=shape_of(call) if call.op.name in VIEWS else None,
    )


def order_of(transposition: Call) -> tuple[int, ...]:
    """The axes of what an R.permute_dims reads, in the order in which it puts them."""
    rank = len(transposition.args[0].ty.shape)
    axes = transposition.attrs.axes
    return tuple(int(a) % rank for a in axes) if axes else tuple(range(rank))[::-1]


def _pad(call: Call) -> Move:
    widths = [int(width) for width in call.attrs.pad_width]

    def rebuild(value: relax.Expr, fill: int) -> relax.Expr:
        return relax.op.nn.pad(value, widths, "constant", fill)

    return Move(call.args[0], rebuild, float(call.attrs.pad_value))


def _is_nearest(call: Call) -> bool:
    out_dtype = str(call.attrs.out_dtype or "")
    return str(call.attrs.method) == "nearest_neighbor" and out_dtype in ("", "void", "float32")


def _part(graph: Graph, item: relax.TupleGetItem) -> Move | None:
    """One of the results of R.split, as a slice."""
    split = graph.call(item.tuple_value, "relax.split")
    if split is None:
        return None
    axis = int(split.attrs.axis) % len(split.args[0].ty.shape)
    extents = [int(part.shape[axis]) for part in split.ty.fields]
    begin = sum(extents[: item.index])
    end = begin + extents[item.index]

    def rebuild(value: relax.Expr, _: int) -> relax.Expr:
        if shape_of(value)[axis] == end - begin:
            return value
        return relax.op.strided_slice(value, [axis], [begin], [end])

    return Move(split.args[0], rebuild)
