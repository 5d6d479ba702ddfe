"""A check that 32 bits suffice for accumulators, because kernels, like TFLite's, wrap around where
32 bits do not suffice."""

from __future__ import annotations

from usmp.ops.quantized import quantize_multiplier
from usmp.support.errors import UnsupportedModelError

_LARGEST_ZERO_POINT = 2**16


def check_int32_range(magnitude: int, real_factor: float) -> None:
    """Check that int32 holds integers up to `magnitude`, and their product with the factor plus a
    zero point. The product is bounded with the factor rounded up to a power of two.

    Raises
    ------
    UnsupportedModelError
        an integer or a product may not fit.
    """
    shift = quantize_multiplier(real_factor).shift
    if magnitude * 2.0 ** max(shift, 0) + _LARGEST_ZERO_POINT >= 2**31:
        raise UnsupportedModelError(
            f"integers up to {magnitude} times {real_factor} may not fit into 32 bits"
        )
