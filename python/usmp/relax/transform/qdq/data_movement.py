"""Operators that only move elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvm import relax
from tvm.ir import Call

from usmp.ops.emit import shape_of
from usmp.ops.views import RESHAPES, ViewKind, names_of, order_of, parts_of, whole_or_slice
from usmp.relax.transform.qdq.graph import Graph

_MOVES = names_of(ViewKind.RESHAPE, ViewKind.PERMUTE, ViewKind.SLICE, ViewKind.GATHER)
"""Operators with one input and one output tensor; `_part` handles the results of R.split."""


@dataclass(frozen=True)
class Move:
    """The result of an operator that only moves the elements of one tensor.

    Parameters
    ----------
    result, source
        the tensors that are written and read.
    rebuild
        function (tensor, integer fill value) -> the same operator applied to this tensor.
    fill
        the real fill value of new elements; None if there are none.
    order
        the order of the source's axes, if the move is a transposition.
    view
        the new shape, if the move is a reshape.
    """

    result: relax.Expr
    source: relax.Expr
    rebuild: Callable[[relax.Expr, int], relax.Expr]
    fill: float | None = None
    order: tuple[int, ...] | None = None
    view: tuple[int, ...] | None = None


def move_of(graph: Graph, expr: relax.Expr) -> Move | None:
    """Return the move that computes `expr`, or None if another operator does."""
    resolved = graph.resolve(expr)
    if isinstance(resolved, relax.TupleGetItem):
        return _part(graph, expr, resolved)
    pad = graph.call(expr, "relax.nn.pad")
    if pad is not None:
        is_constant = str(pad.attrs.pad_mode) == "constant"
        return _pad(expr, pad) if is_constant else _same(expr, pad)
    resize = graph.call(expr, "relax.image.resize2d")
    if resize is not None:
        return _same(expr, resize) if _is_nearest(resize) else None
    call = graph.call(expr, *_MOVES)
    # Out of bounds, such a take returns NaN, which no integer represents.
    if call is None or (call.op.name == "relax.take" and str(call.attrs.mode) == "nan"):
        return None
    return _same(expr, call)


def _same(result: relax.Expr, call: Call) -> Move:
    def rebuild(value: relax.Expr, _: int) -> relax.Expr:
        return Call(call.op, [value, *call.args[1:]], call.attrs, call.ty_args)

    return Move(
        result,
        call.args[0],
        rebuild,
        order=order_of(call) if call.op.name == "relax.permute_dims" else None,
        view=shape_of(call) if call.op.name in RESHAPES else None,
    )


def _pad(result: relax.Expr, call: Call) -> Move:
    widths = [int(width) for width in call.attrs.pad_width]

    def rebuild(value: relax.Expr, fill: int) -> relax.Expr:
        return relax.op.nn.pad(value, widths, "constant", fill)

    return Move(result, call.args[0], rebuild, float(call.attrs.pad_value))


def _is_nearest(call: Call) -> bool:
    out_dtype = str(call.attrs.out_dtype or "")
    return str(call.attrs.method) == "nearest_neighbor" and out_dtype in ("", "void", "float32")


def _part(graph: Graph, result: relax.Expr, item: relax.TupleGetItem) -> Move | None:
    """Return a result of R.split as a slice."""
    split = graph.call(item.tuple_value, "relax.split")
    parts = None if split is None else parts_of(split)
    if split is None or parts is None:
        return None
    part = parts[item.index]
    return Move(result, split.args[0], lambda value, _: whole_or_slice(value, part))
