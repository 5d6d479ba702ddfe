"""Matchers of means and sums over a window or over some axes."""

from __future__ import annotations

from math import prod

from tvm import relax

from usmp.ops import quantized
from usmp.ops.emit import shape_of
from usmp.ops.quantized.rescaling.parameters import farthest
from usmp.relax.transform.qdq.check_int32_range import check_int32_range
from usmp.relax.transform.qdq.graph import Graph, Output
from usmp.relax.transform.qdq.images import image_layout, pool_window, reshaped
from usmp.relax.transform.qdq.operands import integers
from usmp.relax.transform.qdq.products import clamped

_POOLS = ("relax.nn.avg_pool1d", "relax.nn.avg_pool2d")
_ADAPTIVE = ("relax.nn.adaptive_avg_pool1d", "relax.nn.adaptive_avg_pool2d")


def match_average_pool(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """Match R.nn.avg_pool1d and R.nn.avg_pool2d."""
    call = graph.call(expr, *_POOLS)
    data = None if call is None else integers(graph, call.args[0])
    pool = None if call is None else pool_window(call)
    if call is None or data is None or pool is None:
        return None
    window, layout, shape = pool
    before, after = data.quantization, output.quantization
    if "int16" in (before.dtype, after.dtype):
        return None
    image = reshaped(graph.builder, data.emit(graph), shape)
    count = prod(window.kernel)
    check_int32_range(count * farthest(before), before.scale / after.scale / count)
    counts_padding = bool(call.attrs.count_include_pad)
    result = quantized.rescaled_average_pool(
        graph.builder,
        image,
        window,
        before,
        after,
        output.limits,
        layout,
        counts_padding,
        output.rounding,
    )
    return reshaped(graph.builder, result, shape_of(call))


def match_reduction(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """Match R.mean and R.sum over some axes, and adaptive average pools to one element."""
    call = graph.call(expr, "relax.mean", "relax.sum", *_ADAPTIVE)
    data = None if call is None else integers(graph, call.args[0])
    if call is None or data is None:
        return None
    shape = shape_of(call.args[0])
    if call.op.name in _ADAPTIVE:
        axes = _pooled_axes(call)
    else:
        chosen = range(len(shape)) if call.attrs.axis is None else call.attrs.axis
        axes = [int(a) % len(shape) for a in chosen]
    if axes is None:
        return None
    before, after = data.quantization, output.quantization
    is_sum = call.op.name == "relax.sum"
    count = prod(shape[axis] for axis in set(axes))
    ratio = before.scale / after.scale
    check_int32_range(count * farthest(before), ratio if is_sum else ratio / count)
    function = quantized.reduce_sum if is_sum else quantized.mean
    value = data.emit(graph)
    result = clamped(
        graph, function(graph.builder, value, list(axes), before, after, output.rounding), output
    )
    return reshaped(graph.builder, result, shape_of(call))


def _pooled_axes(call: relax.Call) -> list[int] | None:
    """Return the axes that an adaptive pool averages to one element, or None."""
    layout = str(call.attrs.layout)
    if image_layout(layout, call.attrs.out_layout) is None:
        return None
    axes = [index for index, axis in enumerate(layout) if axis in "HW"]
    return axes if all(shape_of(call)[axis] == 1 for axis in axes) else None
