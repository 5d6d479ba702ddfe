"""Sums, differences and products of two quantised tensors."""

from __future__ import annotations

from tvm import relax

from usmp.relax import quantised
from usmp.relax.qdq.graph import Graph, Output

_OPERATORS = {
    "relax.add": quantised.add,
    "relax.subtract": quantised.subtract,
    "relax.multiply": quantised.multiply_elements,
}


def match_elementwise(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """R.add, R.subtract or R.multiply, broadcast; one operand may be a constant."""
    call = graph.call(expr, *_OPERATORS)
    if call is None:
        return None
    operands = []
    for argument in call.args:
        tensor = graph.integers(argument)
        stored = graph.integer_constant(argument)
        if tensor is not None:
            operands.append((tensor.value, tensor.quantisation))
        elif stored is not None and stored.quantisation.is_per_tensor:
            operands.append((relax.const(stored.values), stored.quantisation))
    if len(operands) != 2:
        return None
    (left, first), (right, second) = operands
    if not first.dtype == second.dtype == output.quantisation.dtype:
        return None
    function = _OPERATORS[call.op.name]
    quantisations = (first, second, output.quantisation)
    return function(graph.builder, left, right, quantisations, output.limits)
