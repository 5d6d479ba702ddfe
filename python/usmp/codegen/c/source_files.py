"""C functions from the files and templates of the folder `files`, each of which compiles alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache
from importlib.resources import files
from posixpath import dirname, join, normpath

from usmp.codegen.c.templates import expand

_FUNCTION = re.compile(
    r"^(?P<guard>#if [^\n]*\n)?"
    r"(?:static inline|TVMGEN_(?:INLINE|MVE_\w+)) [^;{]*?(?P<name>\w+)\([^)]*\) \{\n.*?^\}$"
    r"(?(guard)\n#endif$)",
    re.MULTILINE | re.DOTALL,
)


@cache
def file_of(name: str) -> str:
    """Return the text of a file, or its expanded template. The template `x.c.in` is expanded to
    `x.c` and, with other names, to `x_as_float.c`."""
    path = files("usmp.codegen").joinpath("files", name)
    if path.is_file():
        return path.read_text(encoding="utf-8")
    of_integers = name.replace("_as_float.c", ".c")
    template = files("usmp.codegen").joinpath("files", f"{of_integers}.in")
    words = {"as_float": "_as_float", "AS_FLOAT": "_AS_FLOAT", "FLOAT": "_FLOAT"}
    names = dict.fromkeys(words, "") if name == of_integers else words
    return expand(template.read_text(encoding="utf-8"), names)


def text_of(name: str) -> str:
    """Return the text of a file after its `#include` lines; emitted sources have their own."""
    return re.split(r"^#include .*\n+", file_of(name), flags=re.MULTILINE)[-1]


@cache
def functions_of(name: str) -> dict[str, str]:
    """Return the inline functions of a file: name -> definition. A comment above a function is left
    out; an #if directly around a function is included."""
    return {match["name"]: match[0] for match in _FUNCTION.finditer(text_of(name))}


def macros_of(name: str) -> str:
    """Return the preprocessor lines of a file outside of functions, with their comments; "" if
    there are none."""
    rest = _FUNCTION.sub("", text_of(name))
    parts = (part for part in re.split(r"\n{2,}", rest) if re.search(r"^#", part, re.MULTILINE))
    return "".join(f"{part.strip()}\n\n" for part in parts)


def _functions_of_all(names: Iterable[str]) -> dict[str, str]:
    return {name: text for file in names for name, text in functions_of(file).items()}


C_INTRINSICS = _functions_of_all(["arithmetic/fixed_point.c", "tensor_intrin/rescale.c"])
"""The fixed-point functions that quantized operators call."""

C_ARITHMETIC = _functions_of_all(["arithmetic/integers.c", "arithmetic/float_to_integer.c"])
"""Functions for operations that C leaves undefined for some operands."""

C_SIZES = functions_of("arithmetic/size_arithmetic.c")
"""Arithmetic of sizes that are known at run time only."""

C_CONVERSIONS = functions_of("arithmetic/small_floats.c")
"""Conversions from and to floating-point numbers of 16 bits."""

_TENSOR_FILES = [
    f"tensor_intrin/{name}.c"
    for name in (
        *("dot_columns", "dot_steps", "dot_vectors", "dot_mve", "dot", "window", "weights_sum"),
        *("columns", "depthwise", "rescale_tiles", "pool", "copy", "extremes", "rows"),
    )
]
_MVE_FILES = [
    f"mve/{name}.c"
    for name in (
        *("common", "add_pixels", "conv2d_1x4", "conv2d_2x4", "conv2d_4x1", "depthwise"),
        *("depthwise_row", "elementwise", "sums", "window", "as_float", "conv2d_1x4_as_float"),
        *("conv2d_2x4_as_float", "conv2d_4x1_as_float", "depthwise_as_float"),
        *("depthwise_row_as_float", "sums_as_float"),
    )
]


def is_of_mve(function: str) -> bool:
    """Return whether a tensor intrinsic is for cores with MVE."""
    return function.startswith("tvmgen_mve_")


@cache
def tensor_intrinsics(of_mve: bool) -> dict[str, str]:
    """Return the definitions of tensor intrinsics and their callees, for cores with MVE or for
    other cores. The two sets are separate, so that only the templates in use are expanded."""
    return _functions_of_all(_MVE_FILES if of_mve else _TENSOR_FILES)


def mve_macros(functions: Collection[str]) -> str:
    """Return the macros that functions for cores with MVE need; "" without such functions."""
    if not any(map(is_of_mve, functions)):
        return ""
    used = [file for file in _MVE_FILES if not functions_of(file).keys().isdisjoint(functions)]
    needed = with_included(used)
    return "".join(macros_of(file) for file in _MVE_FILES if file in needed)


def with_included(names: Iterable[str]) -> list[str]:
    """Return files and the files that they include, without duplicates, included files first."""
    ordered: dict[str, None] = {}
    for name in names:
        included = re.findall(r'^#include "(.*)"$', file_of(name), re.MULTILINE)
        ordered |= dict.fromkeys(with_included(normpath(join(dirname(name), i)) for i in included))
        ordered[name] = None
    return list(ordered)
