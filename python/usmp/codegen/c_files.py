"""C that is emitted as it stands in files of the folder `files`, each of which compiles alone."""

from __future__ import annotations

import re
from importlib.resources import files

_FUNCTION = re.compile(
    r"^(?:static inline|TVMGEN_INLINE) [^;{]*?(?P<name>\w+)\([^)]*\) \{\n.*?^\}$",
    re.MULTILINE | re.DOTALL,
)


def text_of(name: str) -> str:
    """The text of a file after its `#include` lines; the source that prints it has its own."""
    text = files("usmp.codegen").joinpath("files", name).read_text(encoding="utf-8")
    return re.split(r"^#include .*\n+", text, flags=re.MULTILINE)[-1]


def functions_of(name: str) -> dict[str, str]:
    """The inline functions of a file: name -> definition, without the comment above it."""
    return {found["name"]: found[0] for found in _FUNCTION.finditer(text_of(name))}


C_INTRINSICS = functions_of("fixed_point.c") | functions_of("tensor_intrin_rescale.c")
"""The fixed-point functions that quantized operators call."""

C_ARITHMETIC = (
    functions_of("int32_arithmetic.c")
    | functions_of("int64_arithmetic.c")
    | functions_of("float_to_integer.c")
)
"""Operations that C leaves undefined for some operands, as functions that define them."""

C_TENSOR_INTRINSICS = (
    functions_of("tensor_intrin_dot_steps.c")
    | functions_of("tensor_intrin_dot.c")
    | functions_of("tensor_intrin_weights_sum.c")
    | functions_of("tensor_intrin_depthwise.c")
)
"""Inner loops of operators, with bodies for several cores, and the functions that they call."""

C_CONVERSIONS = functions_of("small_floats.c")
"""From and to the floating-point numbers of 16 bits."""
