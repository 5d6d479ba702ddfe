"""Rescaling of 8-bit integers for concatenation, like TFLite's reference kernels."""

from __future__ import annotations

import numpy as np
from tvm import relax

from usmp.ops.quantized.activation.table import nearest_integer, tabulated
from usmp.ops.quantized.rescaling.parameters import Quantization
from usmp.ops.records.elementwise import RescaleToJoin


def rescale_to_join(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantization, after: Quantization
) -> relax.Expr:
    """Rescale `data` (int8 or uint8) to the quantization of a concatenation.

    Computed in single precision, like TFLite's ConcatenationWithScaling.
    """
    scale = np.float32(before.scale) * (np.float32(1) / np.float32(after.scale))
    bias = np.float32(-before.zero_point) * scale

    def of_integer(value: int) -> int:
        return nearest_integer(float(np.float32(value) * scale + bias), after)

    record = RescaleToJoin((before,), (after,))
    return tabulated(builder, record, data, of_integer)
