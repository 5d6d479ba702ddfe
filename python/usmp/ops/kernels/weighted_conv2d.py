"""The kernels of `conv2d` operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import tirx
from tvm.ir import TensorLoad
from tvm.sym import Analyzer

from usmp.objects.cores import Core
from usmp.ops.kernels.conv2d import Convolution, convolution
from usmp.ops.kernels.kernel import Kernel, kernel
from usmp.ops.kernels.weighted import WeightedOperator, weighted_operator
from usmp.ops.quantized.window import Window
from usmp.tir.nodes import nodes_of


def conv2d_kernel(
    func: tirx.PrimFunc, constants: Sequence[np.ndarray | None], core: Core
) -> Kernel | None:
    """A convolution of NHWC data without groups, by tiles of two pixels and two channels."""
    operator = weighted_operator(func, constants)
    if operator is None or operator.record.kind != "conv2d":
        return None
    window = _window(operator)
    if window is None:
        return None
    outputs = operator.values.shape[0]
    weight = operator.values.reshape(outputs, -1)
    ending = operator.ending_of(weight, folds=not core.has_dsp)
    flat = tirx.decl_buffer((weight.size,), "int8", "weight")
    batch, _, _, channels = (int(extent) for extent in operator.data.shape)
    conv = Convolution(
        operator.data,
        flat,
        window,
        batch,
        channels,
        outputs,
        operator.zero_point,
        ending.is_folded,
        ending.first,
        ending.store,
    )
    replaced = ending.replaced(flat, weight.ravel())
    return kernel(func, convolution(conv, 2, 2), replaced, "2x2", len(constants))


def _window(operator: WeightedOperator) -> Window | None:
    """How the kernel moves, if the operator reads its data as the record says."""
    parameters, output = operator.record.parameters, operator.parts.output
    data, weight = operator.data, operator.values
    if parameters["layout"] != "NHWC" or len(data.shape) != 4 or weight.ndim != 4:
        return None
    _, height, width, channels = (int(extent) for extent in data.shape)
    if channels != weight.shape[3]:
        return None
    window = Window(
        (height, width),
        (weight.shape[1], weight.shape[2]),
        _pair(parameters["strides"]),
        _pair(parameters["dilations"]),
        _pair(parameters["padding"]),
        (int(output.shape[1]), int(output.shape[2])),
    )
    loads = [load for load in nodes_of(operator.parts.sum, TensorLoad) if load.source.same_as(data)]
    b, y, x, _, ky, kx, inner = operator.parts.axes
    row, column = window.position((y, x), (ky, kx))
    analyzer = Analyzer()
    is_known = len(loads) == 1 and all(
        analyzer.can_prove_equal(index, expected)
        for index, expected in zip(loads[0].indices, (b, row, column, inner), strict=True)
    )
    return window if is_known else None


def _pair(values: Any) -> tuple[int, int]:
    first, second = values
    return int(first), int(second)
