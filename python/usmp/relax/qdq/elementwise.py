"""Sums, differences and products of two quantised tensors."""

from __future__ import annotations

from tvm import relax

from usmp.objects.errors import UnsupportedModelError
from usmp.relax import quantised
from usmp.relax.qdq.graph import Graph, Output
from usmp.relax.qdq.operands import quantised_operands
from usmp.relax.qdq.room import require_room
from usmp.relax.quantised import Quantisation
from usmp.relax.quantised.parameters import farthest

_OPERATORS = {
    "relax.add": quantised.add,
    "relax.subtract": quantised.subtract,
    "relax.multiply": quantised.multiply_elements,
}
_FINEST = {"int8": 2.0**12, "uint8": 2.0**12, "int16": 2.0**6}
"""By how much the steps of the output of a sum may be finer than those of its terms: these have 20
bits below the point, those of int16 15."""


def match_elementwise(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """R.add, R.subtract or R.multiply, broadcast; one operand may be a constant."""
    call = graph.call(expr, *_OPERATORS)
    if call is None:
        return None
    operands = quantised_operands(graph, call)
    if operands is None:
        return None
    (left, first), (right, second) = operands
    after = output.quantisation
    if not first.dtype == second.dtype == after.dtype:
        return None
    if call.op.name == "relax.multiply":
        require_room(farthest(first) * farthest(second), first.scale * second.scale / after.scale)
    else:
        _require_coarse(first, second, after)
    function = _OPERATORS[call.op.name]
    return function(graph.builder, left, right, (first, second, after), output.limits)


def _require_coarse(first: Quantisation, second: Quantisation, after: Quantisation) -> None:
    if 2.0 * max(first.scale, second.scale) > _FINEST[after.dtype] * after.scale:
        raise UnsupportedModelError("the steps of a sum are much finer than those of its terms")
