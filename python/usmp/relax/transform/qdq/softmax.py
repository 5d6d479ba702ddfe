"""The matcher of softmax."""

from __future__ import annotations

from math import prod

from tvm import relax

from usmp.ops import quantized
from usmp.ops.emit import shape_of
from usmp.ops.quantized import Quantization
from usmp.relax.transform.qdq.graph import Graph, Output
from usmp.relax.transform.qdq.images import reshaped
from usmp.relax.transform.qdq.operands import integers
from usmp.relax.transform.qdq.products import clamped

_FINE = Quantization("int16", (2.0**-16,), (-(2**15),))
"""The int16 output of TFLite's int8 softmax."""


def match_softmax(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """Match R.nn.softmax over the last axis.

    TFLite's converters give the result scale 1/256. For other scales softmax is computed in 16 bits
    first, and then requantized, which rounds once more.
    """
    call = graph.call(expr, "relax.nn.softmax")
    data = None if call is None else integers(graph, call.args[0])
    if call is None or data is None or data.quantization.dtype == "int16":
        return None
    shape = shape_of(call)
    axis = int(call.attrs.axis) % len(shape)
    if any(extent != 1 for extent in shape[axis + 1 :]) or output.quantization.dtype == "int16":
        return None
    before, after = data.quantization, output.quantization
    rows = (prod(shape[:axis]), shape[axis])
    value = reshaped(graph.builder, data.emit(graph), rows)
    is_usual = after == Quantization("int8", (2.0**-8,), (-128,))
    wide = quantized.softmax(graph.builder, value, before, after if is_usual else _FINE, 1.0)
    if is_usual:
        return reshaped(graph.builder, clamped(graph, wide, output), shape)
    narrow = quantized.relu(graph.builder, graph.builder.emit(wide), _FINE, after, output.limits)
    return reshaped(graph.builder, narrow, shape)
