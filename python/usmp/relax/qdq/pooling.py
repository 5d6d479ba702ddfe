"""Pooling and means."""

from __future__ import annotations

from tvm import relax
from tvm.ir import Call

from usmp.relax import quantised
from usmp.relax.qdq.graph import Graph, Output
from usmp.relax.quantised import Layout, Window
from usmp.relax.quantised.emit import shape_of

_POOLS = ("relax.nn.max_pool2d", "relax.nn.avg_pool2d")


def match_pool(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """R.nn.max_pool2d without change of scale, and R.nn.avg_pool2d."""
    call = graph.call(expr, *_POOLS)
    data = None if call is None else graph.integers(call.args[0])
    if call is None or data is None or str(call.attrs.layout) not in ("NCHW", "NHWC"):
        return None
    window, layout = _window(call), Layout(str(call.attrs.layout))
    if window is None or data.quantisation.dtype != output.quantisation.dtype:
        return None
    before, after = data.quantisation, output.quantisation
    arguments = (graph.builder, data.value, window)
    if call.op.name == "relax.nn.max_pool2d":
        same = before == after
        return quantised.max_pool(*arguments, output.limits, layout) if same else None
    if before == after:
        return quantised.average_pool(*arguments, output.limits, layout)
    if not (window.inside_on(0) and window.inside_on(1)):
        return None
    return quantised.rescaled_average_pool(*arguments, before, after, output.limits, layout)


def _window(call: Call) -> Window | None:
    """The window of a pool; None if it counts padding or is dilated."""
    attrs, layout = call.attrs, Layout(str(call.attrs.layout))
    padding = [int(p) for p in attrs.padding]
    counts_padding = call.op.name == "relax.nn.avg_pool2d" and bool(attrs.count_include_pad)
    if (counts_padding and any(padding)) or any(int(d) != 1 for d in attrs.dilation):
        return None
    _, rows, columns, _ = layout.named(shape_of(call.args[0]))
    _, out_rows, out_columns, _ = layout.named(shape_of(call))
    kernel = (int(attrs.pool_size[0]), int(attrs.pool_size[1]))
    strides = (int(attrs.strides[0]), int(attrs.strides[1]))
    window = Window(
        (rows, columns), kernel, strides, (1, 1), (padding[0], padding[1]), (out_rows, out_columns)
    )
    return window if _every_place_has_data(window) else None


def _every_place_has_data(window: Window) -> bool:
    """Whether the kernel always covers some of the data; a mean of nothing is not defined."""
    return all(
        window.padding[side] < window.kernel[side]
        and (window.output[side] - 1) * window.strides[side] - window.padding[side]
        < window.data[side]
        for side in (0, 1)
    )


def match_mean(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """R.mean over some axes, and R.nn.adaptive_avg_pool2d to one element."""
    call = graph.call(expr, "relax.mean", "relax.nn.adaptive_avg_pool2d")
    data = None if call is None else graph.integers(call.args[0])
    if call is None or data is None or data.quantisation.dtype != output.quantisation.dtype:
        return None
    if output.limits != output.quantisation.limits():
        return None
    shape = shape_of(data.value)
    if call.op.name == "relax.mean":
        chosen = call.attrs.axis
        axes = [int(a) % len(shape) for a in chosen] if chosen else list(range(len(shape)))
    else:
        layout = Layout(str(call.attrs.layout))
        _, rows, columns, _ = layout.named(shape_of(call))
        if (rows, columns) != (1, 1):
            return None
        axes = [index for index, axis in enumerate(layout.axes) if axis in "HW"]
    result = quantised.mean(graph.builder, data.value, axes, data.quantisation, output.quantisation)
    return relax.op.reshape(graph.builder.emit(result), shape_of(call))
