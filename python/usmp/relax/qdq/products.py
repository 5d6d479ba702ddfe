"""Matrix products."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.ir import Call

from usmp.relax import quantised
from usmp.relax.qdq.graph import Graph, Output
from usmp.relax.qdq.images import reshaped
from usmp.relax.qdq.operands import integer_constant, integers, quantised_operands
from usmp.relax.qdq.room import require_room
from usmp.relax.qdq.weights import is_supported, rescale_and_bias, with_bias
from usmp.relax.quantised.emit import shape_of
from usmp.relax.quantised.parameters import farthest


def match_matrix_product(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """R.matmul of any rows with a constant matrix, with or without a bias added to its result."""
    call, bias = with_bias(graph, expr, "relax.matmul")
    if call is None:
        return None
    data, weight = integers(graph, call.args[0]), integer_constant(graph, call.args[1])
    if data is None or weight is None or weight.values.ndim != 2:
        return None
    weight = weight.transposed([1, 0])
    if not is_supported(weight, data.quantisation):
        return None
    _, depth = weight.values.shape
    shape = shape_of(call)
    rescale, stored = rescale_and_bias(
        weight, bias, len(shape) - 1, shape, data.quantisation, output
    )
    value = data.emit(graph.builder)
    rows = int(np.prod(shape_of(value)[:-1]))
    result = quantised.fully_connected(
        graph.builder,
        reshaped(graph.builder, value, (rows, depth)),
        np.ascontiguousarray(weight.values),
        stored,
        data.quantisation,
        weight.quantisation.zero_points[0],
        rescale,
    )
    return reshaped(graph.builder, result, shape)


def match_batch_product(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """R.matmul of two quantised tensors of two and more axes; one of them may be a constant."""
    call = graph.call(expr, "relax.matmul")
    if call is None or any(len(shape_of(argument)) < 2 for argument in call.args):
        return None
    operands = quantised_operands(graph, call)
    if operands is None:
        return None
    (left, first), (right, second) = operands
    after = output.quantisation
    if "int16" in (first.dtype, second.dtype, after.dtype):
        return None
    depth = shape_of(call.args[0])[-1]
    reach = depth * farthest(first) * farthest(second)
    require_room(reach, first.scale * second.scale / after.scale)
    result = quantised.batch_matmul(graph.builder, left, right, (first, second, after))
    return clamped(graph, result, output)


def clamped(graph: Graph, value: Call, output: Output) -> relax.Expr:
    """The result of an operator that knows no limits, within those of the output."""
    if output.limits == output.quantisation.limits():
        return value
    return quantised.clamp(graph.builder, graph.builder.emit(value), output.limits)
