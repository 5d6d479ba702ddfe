"""Helper functions and declarations that precede the functions of a source file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

from usmp.codegen.c.source_files import (
    C_ARITHMETIC,
    C_CONVERSIONS,
    C_INTRINSICS,
    C_SIZES,
    is_of_mve,
    tensor_intrinsics,
)
from usmp.codegen.c.types import UnsupportedInC, c_type
from usmp.tir.intrinsics import conversion_function

_ARITHMETIC = C_INTRINSICS | C_ARITHMETIC | C_SIZES


def is_helper(name: str) -> bool:
    """Return whether `Helpers.intrinsic` can define the function."""
    return name.startswith("tvmgen_") and name in _functions(name)


def _functions(name: str) -> dict[str, str]:
    """Return the functions among which are `name` and its callees; name -> C definition."""
    if name in _ARITHMETIC:
        return _ARITHMETIC
    return _ARITHMETIC | tensor_intrinsics(is_of_mve(name))


@cache
def _called_by(name: str) -> tuple[str, ...]:
    """Return the helpers that a helper mentions, in the order of their definitions."""
    functions = _functions(name)
    words = set(re.findall(r"\w+", functions[name]))
    return tuple(other for other in functions if other != name and other in words)


@dataclass
class Helpers:
    """The helper functions and external declarations that printed expressions need."""

    definitions: dict[str, str] = field(default_factory=dict)
    """Helper functions; name -> C definition."""
    externs: dict[str, str] = field(default_factory=dict)
    """Functions of the user that the code calls; name -> C declaration."""
    declared: frozenset[str] = frozenset()
    """Names of the user's functions that the header declares."""

    @property
    def ask_for_features(self) -> bool:
        """Whether a helper depends on macros for the features of the core."""
        return any("TVMGEN_INLINE" in text for text in self.definitions.values())

    def extreme(self, name: str, dtype: str, operator: str) -> str:
        """Define a `min` or `max` that evaluates each operand once; return its name."""
        c = c_type(dtype)
        function = f"tvmgen_{name}_{dtype}"
        self.definitions[function] = (
            f"static inline {c} {function}({c} a, {c} b) {{ return a {operator} b ? a : b; }}"
        )
        return function

    def written_out(self) -> str:
        """Define a barrier that precedes the statements of an unrolled loop; return its name.

        Without the barrier, GCC at -O3 vectorizes the outer loop: it multiplies vectors but still
        adds the products one by one, which is slower than scalar code.
        """
        function = "tvmgen_written_out"
        self.definitions[function] = (
            f"static inline void {function}(void) {{\n"
            "#if defined(__GNUC__)\n"
            '  __asm__ volatile("");\n'
            "#endif\n"
            "}"
        )
        return function

    def reinterpret(self, source: str, target: str) -> str:
        """Define a bit cast between types of the same size; return its name."""
        function = f"tvmgen_{target}_from_bits_of_{source}"
        self.definitions[function] = (
            f"static inline {c_type(target)} {function}({c_type(source)} value) {{\n"
            f"  {c_type(target)} result;\n"
            "  memcpy(&result, &value, sizeof(result));\n"
            "  return result;\n"
            "}"
        )
        return function

    def conversion(self, target: str, source: str) -> str:
        """Define a conversion from or to a floating-point type that C lacks; return its name."""
        function = conversion_function(target, source)
        self.definitions[function] = C_CONVERSIONS[function]
        return function

    def intrinsic(self, name: str) -> None:
        """Define a helper function, after the functions that it calls."""
        if name in self.definitions:
            return
        for other in _called_by(name):
            self.intrinsic(other)
        self.definitions[name] = _functions(name)[name]

    def extern(self, name: str, declaration: str) -> None:
        """Declare a function of the user, unless the header declares it."""
        if name in self.declared:
            return
        if self.externs.setdefault(name, declaration) != declaration:
            raise UnsupportedInC(
                f"{name} is called with different types: {self.externs[name]} and {declaration}"
            )
