"""Sums, differences and products of two quantized tensors."""

from __future__ import annotations

from tvm import relax
from tvm.ir import Call

from usmp.ops import quantized
from usmp.ops.quantized import Quantization
from usmp.ops.quantized.rescaling.parameters import farthest
from usmp.relax.transform.qdq.check_int32_range import check_int32_range
from usmp.relax.transform.qdq.graph import Graph, Output
from usmp.relax.transform.qdq.operands import Operand, quantized_operands
from usmp.relax.transform.qdq.signed_integers import signed, signed_output
from usmp.support.errors import UnsupportedModelError

_SUMS = {"relax.add": quantized.add, "relax.subtract": quantized.subtract}
_FINEST = {"int8": 2.0**12, "uint8": 2.0**12, "int16": 2.0**6}
"""Largest ratio of input to output scale of a sum, because terms have only 20 fractional bits
(int16: 15)."""


def match_elementwise(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """Match R.add, R.subtract or R.multiply, also with a broadcast or constant operand."""
    call = graph.call(expr, *_SUMS, "relax.multiply")
    if call is None:
        return None
    operands = quantized_operands(graph, call)
    if operands is None:
        return None
    quantizations = [operands[0][1], operands[1][1], output.quantization]
    types = {quantization.dtype for quantization in quantizations}
    if types == {"int8", "uint8"}:
        # Only inputs and outputs of the model are unsigned, so compute in signed integers.
        inner = signed_output(output)
        left, right = (_at(graph, *operand, signed(operand[1])) for operand in operands)
        return _at(graph, *_combined(graph, call, left, right, inner), output.quantization)[0]
    return _combined(graph, call, *operands, output)[0] if len(types) == 1 else None


def _at(graph: Graph, value: relax.Expr, before: Quantization, after: Quantization) -> Operand:
    """Return integers with the quantization `after`, requantized if `before` differs."""
    if before == after:
        return value, before
    emitted = graph.builder.emit(value)
    return graph.builder.emit(quantized.requantize(graph.builder, emitted, before, after)), after


def _combined(graph: Graph, call: Call, left: Operand, right: Operand, output: Output) -> Operand:
    """Return the integer operator, for operands and output of one element type."""
    (left_value, first), (right_value, second) = left, right
    after = output.quantization
    if call.op.name == "relax.multiply":
        check_int32_range(
            farthest(first) * farthest(second), first.scale * second.scale / after.scale
        )
    else:
        _require_coarse(first, second, after)
    operands = (graph.builder, left_value, right_value, (first, second, after), output.limits)
    if call.op.name == "relax.multiply":
        return quantized.multiply_elements(*operands, output.rounding), after
    return _SUMS[call.op.name](*operands), after


def _require_coarse(first: Quantization, second: Quantization, after: Quantization) -> None:
    if 2.0 * max(first.scale, second.scale) > _FINEST[after.dtype] * after.scale:
        raise UnsupportedModelError("the steps of a sum are much finer than those of its terms")
