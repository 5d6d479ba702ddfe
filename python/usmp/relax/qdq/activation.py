"""Activations between an operator and the R.quantize of its result."""

from __future__ import annotations

from dataclasses import replace

import tvm
from tvm import relax
from tvm.ir import Call

from usmp.objects.errors import UnsupportedModelError
from usmp.relax.qdq.graph import Graph, Output
from usmp.relax.quantised.parameters import quantize_value


def without_activation(graph: Graph, expr: relax.Expr, output: Output) -> tuple[relax.Expr, Output]:
    """What `expr` is before clamping activations, and `output` with limits that do the same.

    Rounding keeps order, so clamping real numbers and then quantising them gives the same integers
    as clamping the integers between the quantised limits.
    """
    while True:
        call = graph.call(expr, "relax.nn.relu", "relax.nn.relu6", "relax.clip")
        limits = None if call is None else _limits(call)
        clamped = None if limits is None else _clamped(output, *limits)
        if call is None or clamped is None:
            return expr, output
        expr, output = call.args[0], clamped


def _limits(call: Call) -> tuple[float, float] | None:
    if call.op.name == "relax.nn.relu":
        return 0.0, float("inf")
    if call.op.name == "relax.nn.relu6":
        return 0.0, 6.0
    numbers = [_number(argument) for argument in call.args[1:3]]
    return None if None in numbers else (numbers[0], numbers[1])  # type: ignore[return-value]


def _number(expr: relax.Expr) -> float | None:
    value = getattr(expr, "value", expr)
    if isinstance(value, (tvm.tirx.IntImm, tvm.tirx.FloatImm)):
        value = value.value
    return float(value) if isinstance(value, (int, float)) else None


def _clamped(output: Output, low: float, high: float) -> Output | None:
    """`output` within real limits; None if there is no integer for one of them."""
    limits = output.limits
    try:
        if low != float("-inf"):
            minimum = max(limits.minimum, quantize_value(low, output.quantisation))
            limits = replace(limits, minimum=min(minimum, limits.maximum))
        if high != float("inf"):
            maximum = min(limits.maximum, quantize_value(high, output.quantisation))
            limits = replace(limits, maximum=max(maximum, limits.minimum))
    except UnsupportedModelError:
        return None
    return replace(output, limits=limits)
