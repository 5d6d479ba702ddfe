"""Element types in C.

Pool memory changes its type over time, so every access uses types that may alias any other
(`__attribute__((may_alias))`). Otherwise a compiler that inlines two operators may move a write of
one type before an earlier read of another type. Character types may alias by the C standard.
"""

from __future__ import annotations

_C_TYPES = {
    "bool": "uint8_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "uint8": "uint8_t",
    "uint16": "uint16_t",
    "uint32": "uint32_t",
    "uint64": "uint64_t",
    "float32": "float",
    "float64": "double",
    # C99 lacks these types: they are moved as bits, and functions convert them.
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "float8_e4m3fn": "uint8_t",
    "float8_e5m2": "uint8_t",
}
_SMALL_FLOATS = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")


_CHARACTER_TYPES = ("int8_t", "uint8_t")


class UnsupportedInC(ValueError):
    """Error for TIR without a counterpart in portable C99, which the message names."""


def c_type(dtype: str) -> str:
    """Return the C type of a value of TIR type `dtype`."""
    if dtype not in _C_TYPES:
        raise UnsupportedInC(
            f"element type {dtype} has no portable C99 type; supported: {', '.join(_C_TYPES)}"
        )
    return _C_TYPES[dtype]


def memory_type(dtype: str) -> str:
    """Return the C type for accesses to pool memory that holds `dtype`."""
    plain = c_type(dtype)
    return plain if plain in _CHARACTER_TYPES else f"{plain.removesuffix('_t')}_alias"


ALIAS_TYPEDEFS = "\n".join(
    dict.fromkeys(
        f"typedef {plain} {memory_type(dtype)} TVMGEN_MAY_ALIAS;"
        for dtype, plain in _C_TYPES.items()
        if plain not in _CHARACTER_TYPES
    )
)


def is_small_float(dtype: str) -> bool:
    """Return whether `dtype` is a floating-point type that C99 lacks."""
    return dtype in _SMALL_FLOATS


def is_narrow_integer(dtype: str) -> bool:
    """Return whether C promotes operands of TIR type `dtype` to `int`."""
    return dtype in ("int8", "int16", "uint8", "uint16")
