"""A check that 32 bits suffice, because TFLite's kernels wrap where converters break this
promise."""

from __future__ import annotations

from usmp.ops.quantized import quantize_multiplier
from usmp.support.errors import UnsupportedModelError

_LARGEST_ZERO_POINT = 2**16


def check_int32_range(magnitude: int, real_factor: float) -> None:
    """Check that integers up to `magnitude` times the factor, and a zero point, fit into int32.

    Raises
    ------
    UnsupportedModelError
        the result may not fit.
    """
    shift = quantize_multiplier(real_factor).shift
    if magnitude * 2.0 ** max(shift, 0) + _LARGEST_ZERO_POINT >= 2**31:
        raise UnsupportedModelError(
            f"integers up to {magnitude} times {real_factor} may not fit into 32 bits"
        )
