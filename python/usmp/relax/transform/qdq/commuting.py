"""Operators that commute with R.quantize.

Rounding is monotonic, so moving, clamping or selecting numbers and then quantizing them gives the
same integers as quantizing first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import tvm
from tvm import relax
from tvm.ir import Call

from usmp.ops import quantized
from usmp.ops.emit import shape_of
from usmp.ops.quantized import Quantization, QuantizedMultiplier, Rounding
from usmp.ops.quantized.activation.table import tabulated
from usmp.ops.quantized.rescaling.fixed_point import factor_of
from usmp.ops.quantized.rescaling.parameters import farthest, integer_limits
from usmp.ops.quantized.rescaling.rescaled_arrays import rescaled
from usmp.ops.records.elementwise import Table
from usmp.relax.transform.qdq import operands
from usmp.relax.transform.qdq.check_int32_range import check_int32_range
from usmp.relax.transform.qdq.data_movement import move_of
from usmp.relax.transform.qdq.graph import Graph, Output
from usmp.relax.transform.qdq.images import pool_window, reshaped
from usmp.relax.transform.qdq.operands import integers, real_constant


def match_change_of_scale(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """Match R.quantize of R.dequantize: reuse the integers, or requantize them."""
    data = integers(graph, expr)
    if data is None or data.moves:
        return None
    value, before, after = data.source, data.quantization, output.quantization
    is_clamped = output.limits != after.limits()
    if before == after:
        clamp = quantized.clamp
        return clamp(graph.builder, value, output.limits, after) if is_clamped else value
    check_int32_range(farthest(before), before.scale / after.scale)
    rounding = output.rounding
    if before.dtype != "int16" and rounding is Rounding.AS_FLOAT:
        wanted = _stored_integers(before, output)
        factor = factor_of((before.scale,), after.scale, rounding)
        if not np.array_equal(_rescaled_integers(before, factor, output), wanted):
            record = Table((before,), (after,))
            least, _ = integer_limits(before.dtype)
            return tabulated(graph.builder, record, value, lambda i: int(wanted[i - least]))
    if not is_clamped:
        return quantized.requantize(graph.builder, value, before, after, rounding)
    return quantized.relu(graph.builder, value, before, after, output.limits, rounding)


def _all_integers(quantization: Quantization) -> np.ndarray:
    """Return all integers of the type minus the zero point, as int64."""
    least, greatest = integer_limits(quantization.dtype)
    return np.arange(least, greatest + 1) - quantization.zero_point


def _stored_integers(before: Quantization, output: Output) -> np.ndarray:
    """Return, for each integer of the input type, the result of R.dequantize and R.quantize."""
    return _stored(_all_integers(before) * before.scale, output)


def _rescaled_integers(
    before: Quantization, factor: QuantizedMultiplier, output: Output
) -> np.ndarray:
    """Return, for each integer of the input type, the result of a fixed-point multiplier."""
    multiplier, shift = np.array(factor.multiplier), np.array(factor.shift)
    scaled = rescaled(_all_integers(before), multiplier, shift, output.rounding)
    limits = output.limits
    zero_point = output.quantization.zero_point
    kept: np.ndarray = np.clip(scaled + zero_point, limits.minimum, limits.maximum)
    return kept


def match_constant(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """Match R.quantize of constants."""
    real = real_constant(graph, expr)
    if real is None or np.isnan(real).any():
        return None
    return relax.const(_stored(real, output))


def match_clamp(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """Match R.nn.relu, R.nn.relu6 and R.clip."""
    call = graph.call(expr, "relax.nn.relu", "relax.nn.relu6", "relax.clip")
    limits = None if call is None else limits_of(call)
    clamped = None if limits is None else _clamped(output, *limits)
    return None if call is None or clamped is None else graph.match(call.args[0], clamped)


def limits_of(call: Call) -> tuple[float, float] | None:
    """Return the real limits of a clamp, or None if they are not constant. If the lower limit is
    greater, R.clip returns the lower one."""
    if call.op.name == "relax.nn.relu":
        return 0.0, float("inf")
    if call.op.name == "relax.nn.relu6":
        return 0.0, 6.0
    low, high = (_number(argument) for argument in call.args[1:3])
    return None if low is None or high is None else (low, max(low, high))


def _number(expr: relax.Expr) -> float | None:
    value = getattr(expr, "value", expr)
    if isinstance(value, (tvm.tirx.IntImm, tvm.tirx.FloatImm)):
        value = value.value
    return float(value) if isinstance(value, (int, float)) else None


def _clamped(output: Output, low: float, high: float) -> Output | None:
    """Return `output` clamped to real limits, or None if one of them is NaN."""
    if np.isnan(low) or np.isnan(high):
        return None
    least, greatest = (int(cut) for cut in _stored(np.array([low, high]), output))
    return replace(output, limits=replace(output.limits, minimum=least, maximum=greatest))


def _stored(real: np.ndarray, output: Output) -> np.ndarray:
    """Quantize constants, and clamp them to the limits of the output."""
    values = operands.quantized(real, output.quantization)
    stored: np.ndarray = np.clip(values, output.limits.minimum, output.limits.maximum)
    return stored


def match_move(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """Match an operator that only moves elements (`move_of`), and quantize its fill value."""
    move = move_of(graph, expr)
    if move is None or (move.fill is not None and np.isnan(move.fill)):
        return None
    value = graph.match(move.source, output)
    if value is None:
        return None
    return move.rebuild(value, int(_stored(np.array(move.fill or 0.0), output)))


def match_join(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """Match R.concat and R.stack, with each input quantized to the scale of the result."""
    call = graph.call(expr, "relax.concat", "relax.stack")
    fields = None if call is None else getattr(graph.resolve(call.args[0]), "fields", None)
    if call is None or fields is None:
        return None
    parts = []
    for part in fields:
        value = graph.match(part, output)
        if value is None:
            return None
        parts.append(value)
    return Call(call.op, [relax.Tuple(parts), *call.args[1:]], call.attrs, call.ty_args)


def match_extreme_of_two(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """Match R.maximum and R.minimum, also with broadcast operands."""
    call = graph.call(expr, "relax.maximum", "relax.minimum")
    if call is None:
        return None
    left, right = (graph.match(argument, output) for argument in call.args)
    if left is None or right is None:
        return None
    is_greatest = call.op.name == "relax.maximum"
    function = quantized.maximum if is_greatest else quantized.minimum
    return function(graph.builder, left, right, output.quantization)


def match_extreme(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """Match R.max and R.min over some axes."""
    call = graph.call(expr, "relax.max", "relax.min")
    value = None if call is None else graph.match(call.args[0], output)
    if call is None or value is None:
        return None
    rank = len(shape_of(value))
    axes = range(rank) if call.attrs.axis is None else [int(a) % rank for a in call.attrs.axis]
    is_greatest = call.op.name == "relax.max"
    reduce = quantized.reduce_max if is_greatest else quantized.reduce_min
    result = reduce(graph.builder, value, list(axes), output.quantization)
    return reshaped(graph.builder, result, shape_of(call))


def match_max_pool(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """Match R.nn.max_pool1d and R.nn.max_pool2d."""
    call = graph.call(expr, "relax.nn.max_pool1d", "relax.nn.max_pool2d")
    pool = None if call is None else pool_window(call)
    value = None if call is None or pool is None else graph.match(call.args[0], output)
    if call is None or pool is None or value is None:
        return None
    window, layout, shape = pool
    image = reshaped(graph.builder, value, shape)
    both = output.quantization
    result = quantized.max_pool(graph.builder, image, window, output.limits, layout, both)
    return reshaped(graph.builder, result, shape_of(call))


COMMUTING = (
    match_change_of_scale,
    match_constant,
    match_clamp,
    match_move,
    match_join,
    match_extreme_of_two,
    match_extreme,
    match_max_pool,
)
