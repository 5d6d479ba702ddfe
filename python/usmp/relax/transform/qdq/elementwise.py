"""Sums, differences and products of two quantized tensors."""

from __future__ import annotations

from tvm import relax

from usmp.ops import quantized
from usmp.ops.quantized import Quantization
from usmp.ops.quantized.parameters import farthest
from usmp.relax.transform.qdq.check_int32_range import check_int32_range
from usmp.relax.transform.qdq.graph import Graph, Output
from usmp.relax.transform.qdq.operands import quantized_operands
from usmp.support.errors import UnsupportedModelError

_OPERATORS = {
    "relax.add": quantized.add,
    "relax.subtract": quantized.subtract,
    "relax.multiply": quantized.multiply_elements,
}
_FINEST = {"int8": 2.0**12, "uint8": 2.0**12, "int16": 2.0**6}
"""By how much the steps of the output of a sum may be finer than those of its terms: these have 20
bits below the point, those of int16 15."""


def match_elementwise(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """R.add, R.subtract or R.multiply, broadcast; one operand may be a constant."""
    call = graph.call(expr, *_OPERATORS)
    if call is None:
        return None
    operands = quantized_operands(graph, call)
    if operands is None:
        return None
    (left, first), (right, second) = operands
    after = output.quantization
    if not first.dtype == second.dtype == after.dtype:
        return None
    if call.op.name == "relax.multiply":
        check_int32_range(
            farthest(first) * farthest(second), first.scale * second.scale / after.scale
        )
    else:
        _require_coarse(first, second, after)
    function = _OPERATORS[call.op.name]
    return function(graph.builder, left, right, (first, second, after), output.limits)


def _require_coarse(first: Quantization, second: Quantization, after: Quantization) -> None:
    if 2.0 * max(first.scale, second.scale) > _FINEST[after.dtype] * after.scale:
        raise UnsupportedModelError("the steps of a sum are much finer than those of its terms")
