"""Functions of one quantised tensor, element by element, as a table of all 256 results."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from tvm import relax
from tvm.ir import Call

from usmp.relax.qdq.graph import Graph, Output
from usmp.relax.quantised.parameters import integer_limits
from usmp.relax.quantised.table import tabulated

Function = Callable[[float], float]

_FUNCTIONS: dict[str, Function] = {
    "relax.sigmoid": lambda x: 1 / (1 + math.exp(-x)) if x > -700 else 0.0,
    "relax.tanh": math.tanh,
    "relax.exp": lambda x: math.exp(x) if x < 700 else math.inf,
    "relax.abs": abs,
    "relax.negative": lambda x: -x,
    "relax.erf": math.erf,
    "relax.nn.relu": lambda x: max(x, 0.0),
    "relax.nn.relu6": lambda x: min(max(x, 0.0), 6.0),
    "relax.nn.silu": lambda x: x / (1 + math.exp(-x)) if x > -700 else 0.0,
    "relax.nn.gelu": lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))),
}
_COMBINATIONS: dict[str, Callable[[float, float], float]] = {
    "relax.add": lambda a, b: a + b,
    "relax.subtract": lambda a, b: a - b,
    "relax.multiply": lambda a, b: a * b,
    "relax.divide": lambda a, b: a / b,
    "relax.maximum": max,
    "relax.minimum": min,
}


def match_table(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """Any composition of known functions, and of arithmetic with single numbers, of one tensor."""
    sources: list[relax.Expr] = []
    function = _function(graph, expr, sources)
    if function is None or not sources:
        return None
    data = graph.integers(sources[0])
    if data is None or data.quantisation.dtype not in ("int8", "uint8"):
        return None
    before, after = data.quantisation, output.quantisation
    low, high = integer_limits(before.dtype)
    table = {}
    for integer in range(low, high + 1):
        try:
            real = function((integer - before.zero_point) * before.scale)
        except (ArithmeticError, ValueError):
            return None
        if math.isnan(real):
            return None
        clamped = min(max(real / after.scale, -(2.0**31)), 2.0**31)
        rounded = int(np.rint(clamped)) + after.zero_point
        table[integer] = min(max(rounded, output.limits.minimum), output.limits.maximum)
    return tabulated(graph.builder, "table", data.value, table.__getitem__, after.dtype)


def _function(graph: Graph, expr: relax.Expr, sources: list[relax.Expr]) -> Function | None:
    """`expr` as a function of the one dequantised tensor, which is entered in `sources`."""
    if graph.integers(expr) is not None:
        source = graph.resolve(expr)
        if sources and not _same(graph, sources[0], expr):
            return None
        sources.append(source)
        return lambda x: x
    call = graph.resolve(expr)
    if not isinstance(call, Call) or not hasattr(call.op, "name"):
        return None
    if call.op.name in _FUNCTIONS:
        return _composed(_FUNCTIONS[call.op.name], _function(graph, call.args[0], sources))
    if call.op.name in _COMBINATIONS:
        parts = [_operand(graph, argument, sources) for argument in call.args]
        return _combined(_COMBINATIONS[call.op.name], *parts)
    return None


def _operand(graph: Graph, expr: relax.Expr, sources: list[relax.Expr]) -> Function | None:
    number = graph.real_constant(expr)
    if number is not None and number.size == 1:
        value = float(number.reshape(-1)[0])
        return lambda _: value
    return _function(graph, expr, sources)


def _same(graph: Graph, left: relax.Expr, right: relax.Expr) -> bool:
    """Whether both are the same integers, dequantised alike."""
    a, b = graph.integers(left), graph.integers(right)
    return (
        a is not None
        and b is not None
        and a.value.same_as(b.value)
        and (a.quantisation == b.quantisation)
    )


def _composed(outer: Function, inner: Function | None) -> Function | None:
    return None if inner is None else lambda x: outer(inner(x))


def _combined(
    operator: Callable[[float, float], float], left: Function | None, right: Function | None
) -> Function | None:
    if left is None or right is None:
        return None
    return lambda x: operator(left(x), right(x))
