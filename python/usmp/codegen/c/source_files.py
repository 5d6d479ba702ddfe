"""C that is emitted as it stands in files of the folder `files`, each of which compiles alone."""

from __future__ import annotations

import re
from collections.abc import Collection
from importlib.resources import files

_FUNCTION = re.compile(
    r"^(?P<guard>#if [^\n]*\n)?"
    r"(?:static inline|TVMGEN_(?:INLINE|MVE_\w+)) [^;{]*?(?P<name>\w+)\([^)]*\) \{\n.*?^\}$"
    r"(?(guard)\n#endif$)",
    re.MULTILINE | re.DOTALL,
)


def text_of(name: str) -> str:
    """The text of a file after its `#include` lines; the source that prints it has its own."""
    text = files("usmp.codegen").joinpath("files", name).read_text(encoding="utf-8")
    return re.split(r"^#include .*\n+", text, flags=re.MULTILINE)[-1]


def file_of(name: str) -> bytes:
    """A file that archives hold as it is."""
    return files("usmp.codegen").joinpath("files", name).read_bytes()


def functions_of(name: str) -> dict[str, str]:
    """The inline functions of a file: name -> definition, without the comment above it, with an #if
    directly around it."""
    return {found["name"]: found[0] for found in _FUNCTION.finditer(text_of(name))}


def macros_of(name: str) -> str:
    """The preprocessor's lines of a file outside of functions, with the comments that belong to
    them; empty if there are none."""
    rest = _FUNCTION.sub("", text_of(name))
    parts = (part for part in re.split(r"\n{2,}", rest) if re.search(r"^#", part, re.MULTILINE))
    return "".join(f"{part.strip()}\n\n" for part in parts)


C_INTRINSICS = functions_of("fixed_point.c") | functions_of("tensor_intrin_rescale.c")
"""The fixed-point functions that quantized operators call."""

C_ARITHMETIC = (
    functions_of("int32_arithmetic.c")
    | functions_of("int64_arithmetic.c")
    | functions_of("float_to_integer.c")
)
"""Operations that C leaves undefined for some operands, as functions that define them."""

C_SIZES = functions_of("size_arithmetic.c")
"""Arithmetic of sizes that only the run knows."""

_MVE_FILES = (
    "tensor_intrin_mve.c",
    "tensor_intrin_mve_add_pixels.c",
    "tensor_intrin_mve_conv2d_1x4.c",
    "tensor_intrin_mve_conv2d_2x4.c",
    "tensor_intrin_mve_conv2d_4x1.c",
    "tensor_intrin_mve_depthwise.c",
    "tensor_intrin_mve_depthwise_row.c",
    "tensor_intrin_mve_elementwise.c",
    "tensor_intrin_mve_sums.c",
    "tensor_intrin_mve_window.c",
    "tensor_intrin_mve_as_float.c",
    "tensor_intrin_mve_conv2d_1x4_as_float.c",
    "tensor_intrin_mve_conv2d_2x4_as_float.c",
    "tensor_intrin_mve_conv2d_4x1_as_float.c",
    "tensor_intrin_mve_depthwise_as_float.c",
    "tensor_intrin_mve_depthwise_row_as_float.c",
    "tensor_intrin_mve_sums_as_float.c",
)

C_TENSOR_INTRINSICS = (
    functions_of("tensor_intrin_dot_columns.c")
    | functions_of("tensor_intrin_dot_steps.c")
    | functions_of("tensor_intrin_dot_vectors.c")
    | functions_of("tensor_intrin_dot_mve.c")
    | functions_of("tensor_intrin_dot.c")
    | functions_of("tensor_intrin_window.c")
    | functions_of("tensor_intrin_weights_sum.c")
    | functions_of("tensor_intrin_columns.c")
    | functions_of("tensor_intrin_depthwise.c")
    | functions_of("tensor_intrin_rescale_tiles.c")
    | functions_of("tensor_intrin_pool.c")
    | functions_of("tensor_intrin_copy.c")
    | functions_of("tensor_intrin_extremes.c")
    | functions_of("tensor_intrin_rows.c")
    | {name: text for file in _MVE_FILES for name, text in functions_of(file).items()}
)
"""Inner loops of operators, with bodies for several cores, and the functions that they call."""


def mve_macros(functions: Collection[str]) -> str:
    """The macros that these functions need, if some of them are for cores with MVE."""
    used = [file for file in _MVE_FILES if not functions_of(file).keys().isdisjoint(functions)]
    needed = {included for file in used for included in _with_included(file)}
    return "".join(macros_of(file) for file in _MVE_FILES if file in needed)


def _with_included(name: str) -> set[str]:
    """A file, and those that it includes, directly or not."""
    included = re.findall(r'^#include "(.*)"$', file_of(name).decode(), re.MULTILINE)
    return {name}.union(*map(_with_included, included))


C_CONVERSIONS = functions_of("small_floats.c")
"""From and to the floating-point numbers of 16 bits."""
