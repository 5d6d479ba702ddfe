"""Matchers of matrix products."""

from __future__ import annotations

from itertools import takewhile
from math import prod

import numpy as np
from tvm import relax
from tvm.ir import Call

from usmp.ops import quantized
from usmp.ops.emit import shape_of
from usmp.ops.quantized.rescaling.parameters import farthest
from usmp.relax.transform.qdq.check_int32_range import check_int32_range
from usmp.relax.transform.qdq.data_movement import Move, move_of
from usmp.relax.transform.qdq.graph import Graph, Output
from usmp.relax.transform.qdq.images import reshaped
from usmp.relax.transform.qdq.operands import (
    IntegerTensor,
    integer_constant,
    integers,
    quantized_operands,
)
from usmp.relax.transform.qdq.weights import is_supported, rescale_and_bias, with_bias
from usmp.tir.spans import AnySpan


def match_matrix_product(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """Match R.matmul with a constant matrix, with or without an added bias."""
    call, bias = with_bias(graph, expr, "relax.matmul")
    if call is None:
        return None
    data, weight = integers(graph, call.args[0]), integer_constant(graph, call.args[1])
    if data is None or weight is None or weight.values.ndim != 2:
        return None
    weight = weight.transposed([1, 0])
    if not is_supported(weight, data.quantization):
        return None
    _, depth = weight.values.shape
    shape = shape_of(call)
    rescale, stored = rescale_and_bias(
        weight, bias, len(shape) - 1, shape, data.quantization, output
    )
    values = weight.values
    stored_rows = _as_stored(graph, data, depth)
    if stored_rows is not None:
        data, values = stored_rows[0], values[:, stored_rows[1]]
    value = data.emit(graph)
    result = quantized.fully_connected(
        graph.builder,
        reshaped(graph.builder, value, (prod(shape_of(value)) // depth, depth)),
        np.ascontiguousarray(values),
        stored,
        data.quantization,
        weight.quantization,
        rescale,
    )
    return reshaped(graph.builder, result, shape)


def _as_stored(
    graph: Graph, data: IntegerTensor, depth: int
) -> tuple[IntegerTensor, np.ndarray] | None:
    """Return a tensor before moves that permute all rows alike, and the position of each element in
    a permuted row, so that weights are permuted instead. Return None for other moves."""
    moves = [move for move, _ in data.moves]
    source = data.source
    spans: list[AnySpan | None] = []
    # Include moves of integers, because moves before R.quantize were rewritten into them.
    while (move := move_of(graph, source)) is not None and _keeps_elements(move):
        moves.insert(0, move)
        spans.append(graph.span_of(move.result))
        source = move.source
    kept = list(takewhile(_keeps_elements, reversed(moves)))[::-1]
    if len(kept) < len(data.moves) or not any(move.order for move in kept):
        return None
    elements = np.arange(prod(shape_of(source))).reshape(shape_of(source))
    for move in kept:
        elements = elements.reshape(move.view) if move.view else elements.transpose(move.order)
    rows = elements.reshape(-1, depth)
    if not np.array_equal(rows, rows[0] + np.arange(len(rows))[:, None] * depth):
        return None
    graph.folded.extend(spans)
    return IntegerTensor(source, data.quantization), np.argsort(rows[0])


def _keeps_elements(move: Move) -> bool:
    return move.view is not None or move.order is not None


def match_batch_product(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """Match R.matmul of two quantized tensors of two or more axes; one may be a constant."""
    call = graph.call(expr, "relax.matmul")
    if call is None or any(len(shape_of(argument)) < 2 for argument in call.args):
        return None
    operands = quantized_operands(graph, call)
    if operands is None:
        return None
    (left, first), (right, second) = operands
    after = output.quantization
    if "int16" in (first.dtype, second.dtype, after.dtype):
        return None
    depth = shape_of(call.args[0])[-1]
    reach = depth * farthest(first) * farthest(second)
    check_int32_range(reach, first.scale * second.scale / after.scale)
    result = quantized.batch_matmul(
        graph.builder, left, right, (first, second, after), rounding=output.rounding
    )
    return clamped(graph, result, output)


def clamped(graph: Graph, value: Call, output: Output) -> relax.Expr:
    """Clamp the result of an operator that supports no output limits to those of `output`."""
    if output.limits == output.quantization.limits():
        return value
    emitted = graph.builder.emit(value)
    return quantized.clamp(graph.builder, emitted, output.limits, output.quantization)
