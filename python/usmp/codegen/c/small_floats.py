"""Floating-point numbers of 16 or 8 bits, which C99 lacks: they are stored as integers.

Numbers of 16 bits are converted to float and back. Numbers of 8 bits are only moved.
"""

from __future__ import annotations

import numpy as np

from usmp.codegen.c.types import UnsupportedInC


def bits_of(value: float, dtype: str) -> int:
    """Return the bits of the nearest float16 or bfloat16 number, or of a float8 zero.

    Raises
    ------
    UnsupportedInC
        the type is none of these, or the value is a float8 number other than zero.
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
    """Return a view of the elements as unsigned integers of the same size."""
    return data.view(np.dtype(f"uint{8 * data.dtype.itemsize}"))
