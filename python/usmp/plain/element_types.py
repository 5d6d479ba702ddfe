"""Sizes of elements and tensors in bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import prod

from usmp.support.text.plain_text import shown

_TYPE = re.compile(
    r"(?:u?int|b?float)(\d+)(?:_e\dm\d(?:b11)?(?:fn)?(?:uz?)?)?(?:x(\d{1,4}))?", re.ASCII
)
"""Names of types with bits and lanes; names of small floats contain bits of exponent and
mantissa."""

_MOST_BITS = 64


def element_bytes(dtype: str) -> int:
    """Return the bytes of an element.

    Parameters
    ----------
    dtype
        type as TVM and numpy write it, for instance "int8" or "bfloat16".

    Raises
    ------
    ValueError
        the type is unknown.
    """
    if dtype == "bool":
        return 1
    matched = _TYPE.fullmatch(dtype)
    bits = int(matched[1]) if matched and len(matched[1]) <= 2 else 0
    if not 1 <= bits <= _MOST_BITS:
        raise ValueError(f'"{shown(dtype)}" is no element type')
    lanes = int(matched[2]) if matched and matched[2] else 1
    return (bits * lanes + 7) // 8


def tensor_bytes(shape: Iterable[int], dtype: str) -> int:
    """Return the bytes of a tensor.

    Raises
    ------
    ValueError
        the element type is unknown.
    """
    return prod(map(int, shape)) * element_bytes(str(dtype))
