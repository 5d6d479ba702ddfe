"""Element-wise functions of one quantized tensor, as a table of all 256 results."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import tvm
from tvm import relax
from tvm.ir import Call

from usmp.ops.emit import shape_of
from usmp.ops.quantized.activation.table import tabulated
from usmp.ops.quantized.rescaling.parameters import integer_limits
from usmp.ops.records.elementwise import Table
from usmp.relax.transform.qdq.functions import COMBINATIONS, Function, function_of
from usmp.relax.transform.qdq.graph import Graph, Output
from usmp.relax.transform.qdq.operands import IntegerTensor, integers, real_constant


class _NotAFunction(Exception):
    """The expression is no known function of one tensor."""


def match_table(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """Match any composition of known functions, and arithmetic with scalars, of one tensor."""
    composition = _Composition(graph)
    try:
        function = composition.function(expr)
    except _NotAFunction:
        return None
    data = composition.source
    if data is None or data.quantization.dtype not in ("int8", "uint8"):
        return None
    table = _table(function, data, output)
    value = data.emit(graph)
    # A scalar constant with more axes than the tensor adds axes, which a table cannot do.
    if table is None or shape_of(value) != shape_of(expr):
        return None
    record = Table((data.quantization,), (output.quantization,))
    return tabulated(graph.builder, record, value, table.__getitem__)


def _table(function: Function, data: IntegerTensor, output: Output) -> dict[int, int] | None:
    """Return input integer -> quantized result, or None if some result is NaN or undefined."""
    before, after = data.quantization, output.quantization
    least, greatest = integer_limits(before.dtype)
    table = {}
    for integer in range(least, greatest + 1):
        try:
            step = np.float32(integer - before.zero_point) * np.float32(before.scale)
            real = function(float(step))
        except (ArithmeticError, ValueError):
            return None
        if math.isnan(real):
            return None
        with np.errstate(over="ignore"):
            ratio = float(np.float32(real) / np.float32(after.scale))
        steps = round(min(max(ratio, -(2.0**31)), 2.0**31))
        limits = output.limits
        table[integer] = min(max(steps + after.zero_point, limits.minimum), limits.maximum)
    return table


class _Composition:
    """An expression as a function of one dequantized tensor, `source`."""

    def __init__(self, graph: Graph) -> None:
        self.source: IntegerTensor | None = None
        self._graph = graph
        self._known: dict[tvm.ir.Var, Function] = {}

    def function(self, expr: relax.Expr) -> Function:
        """Return the function that computes `expr`; raise `_NotAFunction` if there is none."""
        if isinstance(expr, tvm.ir.Var):
            if expr not in self._known:
                self._known[expr] = _once(self._read(expr))
            return self._known[expr]
        return self._read(expr)

    def _read(self, expr: relax.Expr) -> Function:
        data = integers(self._graph, expr)
        if data is not None:
            self._enter(data)
            return lambda x: x
        number = real_constant(self._graph, expr)
        if number is not None and number.size == 1:
            value = float(number.reshape(-1)[0])
            return lambda _: value
        call = self._graph.resolve(expr)
        if not isinstance(call, Call) or not hasattr(call.op, "name"):
            raise _NotAFunction
        if call.op.name in COMBINATIONS:
            combine = COMBINATIONS[call.op.name]
            parts = [self.function(argument) for argument in call.args]
            return lambda x: combine(*(part(x) for part in parts))
        outer = function_of(call)
        if outer is None:
            raise _NotAFunction
        inner = self.function(call.args[0])
        return lambda x: outer(inner(x))

    def _enter(self, data: IntegerTensor) -> None:
        first = self.source
        if first is None:
            self.source = data
            return
        same = first.source.same_as(data.source) and not (first.moves or data.moves)
        if not (same and first.quantization == data.quantization):
            raise _NotAFunction


def _once(function: Callable[[float], float]) -> Function:
    """Memoize a function, because variables can be used several times."""
    results: dict[float, float] = {}

    def remembered(x: float) -> float:
        if x not in results:
            results[x] = function(x)
        return results[x]

    return remembered
