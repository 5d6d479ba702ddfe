"""8-bit integers at another scale, as TFLite's reference kernels join them."""

from __future__ import annotations

import numpy as np
from tvm import relax

from usmp.relax.quantised.parameters import Quantisation
from usmp.relax.quantised.table import nearest_integer, tabulated


def rescale_to_join(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantisation, after: Quantisation
) -> relax.Expr:
    """`data` (int8 or uint8) at the scale and zero point of what it is joined with.

    In single precision: TFLite's ConcatenationWithScaling.
    """
    scale = np.float32(before.scale) * (np.float32(1) / np.float32(after.scale))
    bias = np.float32(-before.zero_point) * scale

    def of_integer(value: int) -> int:
        return nearest_integer(float(np.float32(value) * scale + bias), after)

    return tabulated(builder, "rescale_to_join", data, of_integer, after.dtype)
