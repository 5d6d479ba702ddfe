"""The kernels of `conv2d` operators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tvm import tirx

from usmp.objects.cores import Core
from usmp.ops.kernels.conv2d import Convolution, convolution
from usmp.ops.kernels.data_window import data_window
from usmp.ops.kernels.kernel import Kernel, kernel
from usmp.ops.kernels.weighted import weighted_operator


def conv2d_kernel(
    func: tirx.PrimFunc, constants: Sequence[np.ndarray | None], core: Core
) -> Kernel | None:
    """A convolution of NHWC data without groups, by tiles of two pixels and two channels."""
    operator = weighted_operator(func, constants)
    if operator is None or operator.record.kind != "conv2d":
        return None
    if operator.values.ndim != 4 or len(operator.data.shape) != 4:
        return None
    outputs, height, width, inputs = operator.values.shape
    window = data_window(operator, (height, width), operator.parts.axes[-1])
    if window is None or int(operator.data.shape[3]) != inputs:
        return None
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
