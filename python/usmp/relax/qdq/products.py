"""Convolutions and matrix products with constant weights."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.ir import Call

from usmp.relax import quantised
from usmp.relax.qdq.graph import Graph, IntegerConstant, Output
from usmp.relax.quantised import Layout, Quantisation, Rescale, Window, quantize_multiplier
from usmp.relax.quantised.emit import shape_of

_KERNEL_ORDERS = {"OIHW": (0, 2, 3, 1), "OHWI": (0, 1, 2, 3), "HWIO": (3, 0, 1, 2)}
"""Layout of a weight -> its axes in the order OHWI."""


def match_convolution(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """R.nn.conv2d of two dimensions, with or without a bias that is added to its result."""
    call, bias = _with_bias(graph, expr, "relax.nn.conv2d")
    if call is None:
        return None
    data, weight = graph.integers(call.args[0]), graph.integer_constant(call.args[1])
    attrs = call.attrs
    order = _KERNEL_ORDERS.get(str(attrs.kernel_layout))
    layouts = {str(attrs.data_layout), str(attrs.out_layout or attrs.data_layout)}
    if data is None or weight is None or order is None or layouts not in ({"NCHW"}, {"NHWC"}):
        return None
    layout = Layout(layouts.pop())
    weight = weight.transposed(list(order))
    if not _is_supported(weight, data.quantisation, 0):
        return None
    outputs, height, width, depth = weight.values.shape
    _, rows, columns, channels = layout.named(shape_of(data.value))
    _, out_rows, out_columns, _ = layout.named(shape_of(call))
    window = Window(
        (rows, columns),
        (height, width),
        (int(attrs.strides[0]), int(attrs.strides[1])),
        (int(attrs.dilation[0]), int(attrs.dilation[1])),
        (int(attrs.padding[0]), int(attrs.padding[1])),
        (out_rows, out_columns),
    )
    stored = _integer_bias(bias, layout.named(range(4))[3], data.quantisation, weight, outputs)
    if bias is not None and stored is None:
        return None
    values, function = weight.values, quantised.conv2d
    if depth == 1 and int(attrs.groups) == channels:
        values, function = values[..., 0].transpose(1, 2, 0), quantised.depthwise_conv2d
    return function(
        graph.builder,
        data.value,
        np.ascontiguousarray(values),
        stored,
        window,
        data.quantisation,
        _rescale(data.quantisation, weight.quantisation, output),
        layout,
        weight.quantisation.zero_points[0],
    )


def match_matrix_product(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """R.matmul of any rows with a constant matrix, with or without a bias added to its result."""
    call, bias = _with_bias(graph, expr, "relax.matmul")
    if call is None:
        return None
    data, weight = graph.integers(call.args[0]), graph.integer_constant(call.args[1])
    if data is None or weight is None or weight.values.ndim != 2:
        return None
    weight = weight.transposed([1, 0])
    if not _is_supported(weight, data.quantisation, 0):
        return None
    outputs, depth = weight.values.shape
    shape = shape_of(data.value)
    rank = len(shape_of(call))
    stored = _integer_bias(bias, rank - 1, data.quantisation, weight, outputs)
    if bias is not None and stored is None:
        return None
    rows = int(np.prod(shape[:-1]))
    result = quantised.fully_connected(
        graph.builder,
        graph.builder.emit(relax.op.reshape(data.value, (rows, depth))),
        np.ascontiguousarray(weight.values),
        stored,
        data.quantisation,
        weight.quantisation.zero_points[0],
        _rescale(data.quantisation, weight.quantisation, output),
    )
    return relax.op.reshape(graph.builder.emit(result), shape_of(call))


def _with_bias(
    graph: Graph, expr: relax.Expr, operator: str
) -> tuple[Call | None, np.ndarray | None]:
    """The call of the operator, and the real numbers that are added to its result."""
    call = graph.call(expr, operator)
    if call is not None:
        return call, None
    added = graph.call(expr, "relax.add")
    if added is None:
        return None, None
    for product, other in (added.args, reversed(added.args)):
        call, bias = graph.call(product, operator), graph.real_constant(other)
        if call is not None and bias is not None and shape_of(call) == shape_of(added):
            return call, bias
    return None, None


def _is_supported(weight: IntegerConstant, data: Quantisation, axis: int) -> bool:
    """Whether the integer operators know such weights, scaled along the output channels."""
    scales = weight.quantisation
    if weight.values.dtype not in (np.int8, np.uint8) or data.dtype == "int16":
        return False
    return scales.is_per_tensor or (scales.axis == axis and not any(scales.zero_points))


def _integer_bias(
    bias: np.ndarray | None,
    axis: int,
    data: Quantisation,
    weight: IntegerConstant,
    outputs: int,
) -> np.ndarray | None:
    """The bias at the scale of the accumulators; None if there is none, or none that fits."""
    if bias is None:
        return None
    # Along the axis of the output channels, counted from the last one as broadcasting does.
    shape = [1] * (4 if axis in (1, 3) and bias.ndim > 2 else max(bias.ndim, 1))
    position = axis if len(shape) == 4 else len(shape) - 1
    shape[position] = outputs
    if bias.size not in (1, outputs) or (bias.size > 1 and list(bias.shape) != shape):
        return None
    scales = data.scale * np.array(weight.quantisation.scales)
    ratio = np.broadcast_to(bias.reshape(-1), (outputs,)) / scales
    if not np.all(np.abs(ratio) < 2**31 - 1):
        return None
    return np.rint(ratio).astype(np.int32)


def _rescale(data: Quantisation, weight: Quantisation, output: Output) -> Rescale:
    scale = output.quantisation.scale
    factors = tuple(quantize_multiplier(data.scale * s / scale) for s in weight.scales)
    return Rescale(factors, output.quantisation.zero_point, output.limits)
