"""Integer operations that C leaves undefined for some operands, as functions that define them."""

from __future__ import annotations

from usmp.analysis.integer_ranges import type_range
from usmp.codegen.c_types import c_type
from usmp.tir.intrinsics import arithmetic_function, conversion_function

_SIGNED = {
    "add": """\
  return ({c})(({u})a + ({u})b);""",
    "subtract": """\
  return ({c})(({u})a - ({u})b);""",
    "multiply": """\
  return ({c})(({u})a * ({u})b);""",
    "divide": """\
  if (b == 0) return 0;
  return b == -1 ? ({c})(0 - ({u})a) : a / b;""",
    "remainder": """\
  return b == 0 || b == -1 ? 0 : a % b;""",
    "floor_divide": """\
  if (b == 0) return 0;
  if (b == -1) return ({c})(0 - ({u})a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));""",
    "floor_modulo": """\
  const {c} rest = b == 0 || b == -1 ? 0 : a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;""",
    "shift_left": """\
  return ({u})b < {bits} ? ({c})(({u})a << b) : 0;""",
    "shift_right": """\
  return a >> (({u})b < {bits} ? b : {bits} - 1);""",
}
_UNSIGNED = {
    "divide": "  return b == 0 ? 0 : a / b;",
    "remainder": "  return b == 0 ? 0 : a % b;",
    "shift_left": "  return b < {bits} ? a << b : 0;",
    "shift_right": "  return b < {bits} ? a >> b : 0;",
}


def _arithmetic(operation: str, dtype: str, body: str) -> str:
    c, unsigned = c_type(dtype), c_type(f"u{dtype.removeprefix('u')}")
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    text = body.format(c=c, u=unsigned, bits=bits)
    name = arithmetic_function(operation, dtype)
    return f"static inline {c} {name}({c} a, {c} b) {{\n{text}\n}}"


def _conversion(target: str, source: str) -> str:
    c, f = c_type(target), c_type(source)
    low, high = type_range(target)
    suffix = "f" if source == "float32" else ""
    maximum, minimum = f"{target.upper()}_MAX", f"{target.upper()}_MIN" if low else "0"
    # Exact in both types, unlike the greatest integer.
    above = f"{float(high + 1)!r}{suffix}"
    is_above_least = f"value >= {float(low)!r}{suffix}" if low else f"value > -1.0{suffix}"
    return (
        f"static inline {c} {conversion_function(target, source)}({f} value) {{\n"
        f"  if ({is_above_least} && value < {above}) return ({c})value;\n"
        f"  return value > 0 ? {maximum} : value < 0 ? {minimum} : 0;\n"
        "}"
    )


C_ARITHMETIC: dict[str, str] = {
    **{
        arithmetic_function(operation, f"{sign}int{bits}"): _arithmetic(
            operation, f"{sign}int{bits}", body
        )
        for sign, bodies in (("", _SIGNED), ("u", _UNSIGNED))
        for operation, body in bodies.items()
        for bits in (32, 64)
    },
    **{
        conversion_function(target, source): _conversion(target, source)
        for target in ("int32", "int64", "uint64")
        for source in ("float32", "float64")
    },
}
"""Name -> definition."""
