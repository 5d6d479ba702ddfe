"""TIR constants as C99 literals."""

from __future__ import annotations

import numpy as np

from usmp.codegen.c.types import UnsupportedInC


def integer_literal(value: int, dtype: str) -> str:
    """Return the literal of an integer of TIR type `dtype`."""
    bits = 1 if dtype == "bool" else int(dtype.removeprefix("u").removeprefix("int"))
    if bits >= 32 and value == -(2 ** (bits - 1)):
        return f"INT{bits}_MIN"
    if bits == 64:
        text = f"UINT64_C({value})" if dtype == "uint64" else f"INT64_C({abs(value)})"
        return f"-{text}" if value < 0 else text
    return f"{value}U" if dtype == "uint32" else str(value)


def float_literal(value: float, dtype: str) -> str:
    """Return the shortest decimal literal that C reads as exactly this value."""
    if dtype not in ("float32", "float64"):
        raise UnsupportedInC(f"element type {dtype} has no portable C99 type")
    number = np.float32(value) if dtype == "float32" else np.float64(value)
    if np.isnan(number):
        return "-NAN" if np.signbit(number) else "NAN"
    if np.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    return str(number) + ("f" if dtype == "float32" else "")


def element_literals(elements: np.ndarray, dtype: str) -> list[str]:
    """Return the literals of all elements of an array of TIR type `dtype`.

    They equal the results of the scalar functions above, which are slower.
    """
    if dtype in ("float32", "float64"):
        numbers = elements.reshape(-1).astype(dtype, copy=False)
        if np.isfinite(numbers).all():
            suffix = "f" if dtype == "float32" else ""
            return [f"{number!s}{suffix}" for number in numbers]
        return [float_literal(number, dtype) for number in numbers]
    numbers = elements.reshape(-1).astype(np.int64 if dtype == "bool" else dtype, copy=False)
    if numbers.itemsize < 4:
        return list(map(str, numbers.tolist()))
    return [integer_literal(number, dtype) for number in numbers.tolist()]
