"""Floating-point numbers of 16 bits and fewer, which C99 lacks: memory has them as integers.

Those of 16 bits are converted to float and back; of the others nothing is computed.
"""

from __future__ import annotations

import numpy as np

from usmp.codegen.c.types import UnsupportedInC


def conversion_name(target: str, source: str) -> str:
    """The function of `C_CONVERSIONS` that converts, if it is there."""
    return f"tvmgen_{target}_of_{source}"


def bits_of(value: float, dtype: str) -> int:
    """Return the bits of the nearest number of float16 or bfloat16, or of a zero of float8.

    Raises
    ------
    UnsupportedInC
        another type, or another number of float8.
    """
    if value == 0 and dtype.startswith("float8_"):
        return 0x80 if np.signbit(value) else 0
    if dtype == "float16":
        with np.errstate(over="ignore"):
            return int(np.float16(value).view(np.uint16))
    if dtype == "bfloat16":
        with np.errstate(over="ignore"):
            bits = int(np.float32(value).view(np.uint32))
        if np.isnan(value):
            return bits >> 16 | 0x40
        return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    raise UnsupportedInC(f"a constant of {dtype}")


def as_integers(data: np.ndarray) -> np.ndarray:
    """The same bytes, as the integers that memory has them as."""
    return data.view(np.dtype(f"uint{8 * data.dtype.itemsize}"))
