"""Matrix products."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.ir import Call

from usmp.ops import quantized
from usmp.ops.emit import shape_of
from usmp.ops.quantized.parameters import farthest
from usmp.relax.transform.qdq.check_int32_range import check_int32_range
from usmp.relax.transform.qdq.graph import Graph, Output
from usmp.relax.transform.qdq.images import reshaped
from usmp.relax.transform.qdq.operands import integer_constant, integers, quantized_operands
from usmp.relax.transform.qdq.weights import is_supported, rescale_and_bias, with_bias


def match_matrix_product(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """R.matmul of any rows with a constant matrix, with or without a bias added to its result."""
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
    value = data.emit(graph.builder)
    rows = int(np.prod(shape_of(value)[:-1]))
    result = quantized.fully_connected(
        graph.builder,
        reshaped(graph.builder, value, (rows, depth)),
        np.ascontiguousarray(weight.values),
        stored,
        data.quantization,
        weight.quantization,
        rescale,
    )
    return reshaped(graph.builder, result, shape)


def match_batch_product(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """R.matmul of two quantized tensors of two and more axes; one of them may be a constant."""
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
    result = quantized.batch_matmul(graph.builder, left, right, (first, second, after))
    return clamped(graph, result, output)


def clamped(graph: Graph, value: Call, output: Output) -> relax.Expr:
    """The result of an operator that knows no limits, within those of the output."""
    if output.limits == output.quantization.limits():
        return value
    emitted = graph.builder.emit(value)
    return quantized.clamp(graph.builder, emitted, output.limits, output.quantization)
