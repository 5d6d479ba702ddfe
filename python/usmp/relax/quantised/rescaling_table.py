"""8-bit integers at another scale, as TFLite's reference kernels join them."""

from __future__ import annotations

import numpy as np
from tvm import relax

from usmp.relax.quantised.parameters import Quantisation, integer_limits, round_half_away
from usmp.relax.quantised.table import tabulated


def rescale_to_join(
    builder: relax.BlockBuilder, data: relax.Expr, before: Quantisation, after: Quantisation
) -> relax.Expr:
    """`data` (int8 or uint8) at the scale and zero point of what it is joined with.

    In single precision: TFLite's ConcatenationWithScaling.
    """
    least, greatest = integer_limits(after.dtype)
    scale = np.float32(before.scale) * (np.float32(1) / np.float32(after.scale))
    bias = np.float32(-before.zero_point) * scale

    def of_integer(value: int) -> int:
        scaled = float(np.float32(value) * scale + bias)
        if not abs(scaled) < 2**30:
            return greatest if scaled > 0 else least
        return min(max(round_half_away(scaled) + after.zero_point, least), greatest)

    return tabulated(builder, "rescale_to_join", data, of_integer, after.dtype)
