"""Operators that move elements and compute nothing, on the integers themselves."""

from __future__ import annotations

from tvm import relax
from tvm.ir import Call

from usmp.relax import quantised
from usmp.relax.qdq.graph import Graph, IntegerTensor, Output
from usmp.relax.quantised.parameters import quantize_value

_SHAPES = (
    "relax.reshape",
    "relax.flatten",
    "relax.squeeze",
    "relax.expand_dims",
    "relax.permute_dims",
)
_MOVES = (
    *_SHAPES,
    "relax.strided_slice",
    "relax.nn.pad",
    "relax.take",
)


def match_change_of_scale(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """R.quantize of an R.dequantize: the integers themselves, or at another scale."""
    data = graph.integers(expr)
    return None if data is None else _at_output(graph, data, data.value, output)


def behind_moves(graph: Graph, expr: relax.Expr) -> tuple[relax.Expr, list[Call]]:
    """What is moved without looking at values, and the moves, the last one first.

    They may as well be done after R.quantize, which changes each element by itself.
    """
    moves = []
    while (call := graph.call(expr, *_SHAPES)) is not None and graph.integers(expr) is None:
        moves.append(call)
        expr = call.args[0]
    return expr, moves


def moved(graph: Graph, value: relax.Expr, moves: list[Call]) -> relax.Expr:
    """`value` after moves, of which the last one comes first."""
    for move in reversed(moves):
        value = Call(move.op, [graph.builder.emit(value), *move.args[1:]], move.attrs, move.ty_args)
    return value


def match_move(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """A move of one tensor: it is done on the integers, and their scale changed afterwards."""
    call = graph.call(expr, *_MOVES)
    data = None if call is None else graph.integers(call.args[0])
    if call is None or data is None:
        return None
    if call.op.name == "relax.nn.pad":
        return _match_pad(graph, call, data, output)
    after = Call(call.op, [data.value, *call.args[1:]], call.attrs, call.ty_args)
    return _at_output(graph, data, graph.builder.emit(after), output)


def _match_pad(graph: Graph, call: Call, data: IntegerTensor, output: Output) -> relax.Expr | None:
    if str(call.attrs.pad_mode) != "constant":
        return None
    value = quantize_value(float(call.attrs.pad_value), data.quantisation)
    limits = data.quantisation.limits()
    if not limits.minimum <= value <= limits.maximum:
        return None
    padded = relax.op.nn.pad(data.value, list(call.attrs.pad_width), "constant", value)
    return _at_output(graph, data, graph.builder.emit(padded), output)


def match_concatenation(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """R.concat: each part at the scale of the result."""
    call = graph.call(expr, "relax.concat")
    fields = None if call is None else getattr(graph.resolve(call.args[0]), "fields", None)
    if call is None or fields is None:
        return None
    parts = []
    for field in fields:
        data = graph.integers(field)
        part = None if data is None else _at_output(graph, data, data.value, output)
        if part is None:
            return None
        parts.append(graph.builder.emit(part))
    return relax.op.concat(parts, int(call.attrs.axis))


def _at_output(
    graph: Graph, data: IntegerTensor, value: relax.Expr, output: Output
) -> relax.Expr | None:
    """`value`, integers of `data` that were moved, at the scale of the output and in its limits."""
    before, after = data.quantisation, output.quantisation
    if output.limits == after.limits():
        return (
            value if before == after else quantised.requantize(graph.builder, value, before, after)
        )
    if before == after:
        return quantised.clamp(graph.builder, value, output.limits)
    return quantised.relu(graph.builder, value, before, after, output.limits)
