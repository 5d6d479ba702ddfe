"""Constants of TIR as C99 text."""

from __future__ import annotations

import numpy as np

from usmp.codegen.c_types import UnsupportedInC


def integer_literal(value: int, dtype: str) -> str:
    """An integer constant of TIR type `dtype`."""
    bits = 1 if dtype == "bool" else int(dtype.removeprefix("u").removeprefix("int"))
    if bits >= 32 and value == -(2 ** (bits - 1)):
        return f"INT{bits}_MIN"
    if bits == 64:
        text = f"UINT64_C({value})" if dtype == "uint64" else f"INT64_C({abs(value)})"
        return f"-{text}" if value < 0 else text
    return f"{value}U" if dtype == "uint32" else str(value)


def float_literal(value: float, dtype: str) -> str:
    """The shortest decimal constant that is exactly the TIR value."""
    if dtype not in ("float32", "float64"):
        raise UnsupportedInC(f"element type {dtype} has no portable C99 type")
    number = np.float32(value) if dtype == "float32" else np.float64(value)
    if np.isnan(number):
        return "-NAN" if np.signbit(number) else "NAN"
    if np.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    return str(number) + ("f" if dtype == "float32" else "")
