"""Symbolic sizes in C: extents as expressions, members of structs, macros, the check of a run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from math import prod

import tvm

from usmp.codegen.entry_interface import EntryInterface, IOTensor, tensor_macro
from usmp.codegen.entry_sizes import ERROR_SIZE_MACRO, EntrySize, bounds_of
from usmp.objects.size_expression import (
    Bounds,
    SizeExpression,
    expression_text,
    extent_range,
)

_LARGEST = 2**31 - 1
_NOTATION = {"//": "/", "min": "({0} < {1} ? {0} : {1})", "max": "({0} > {1} ? {0} : {1})"}


def shape_comment(entry: EntryInterface, tensor: IOTensor) -> str:
    """Element type and extents of a tensor, for the inside of a comment."""
    extents = tensor.symbolic_extents
    if not extents:
        return f"{tensor.info.dtype}{[int(e) for e in tensor.info.shape]}"
    bounds, names = bounds_of(entry.sizes), {size.name: size.c_name for size in entry.sizes}
    return f"{tensor.info.dtype}[{', '.join(c_extent(e, names, bounds) for e in extents)}]"


def c_extent(expression: SizeExpression, names: Mapping[str, str], bounds: Bounds) -> str:
    """An extent as an expression of C.

    C rounds quotients towards zero: what may be negative is divided after a multiple of the
    divisor was added.

    Parameters
    ----------
    expression
        of sizes.
    names
        what stands for each size.
    bounds
        of the sizes.

    Raises
    ------
    ValueError
        it would leave 32 bits.
    """
    return expression_text(_rounding_down(expression, bounds), names, _NOTATION)


def _rounding_down(expression: SizeExpression, bounds: Bounds) -> SizeExpression:
    """The same, with no quotient of what may be negative."""
    if not isinstance(expression, list):
        return expression
    operator, *sides = expression
    left, right = (_rounding_down(side, bounds) for side in sides)
    if operator not in ("//", "%"):
        return [operator, left, right]
    divisor, (low, high) = int(sides[1]), extent_range(sides[0], bounds)
    added = max(0, -(low // divisor))
    if high + added * divisor > _LARGEST:
        raise ValueError("an extent may leave 32 bits; give the sizes smaller upper bounds")
    if added == 0:
        return [operator, left, divisor]
    shifted = [operator, ["+", left, added * divisor], divisor]
    return shifted if operator == "%" else ["-", shifted, added]


def size_members(entry: EntryInterface) -> list[str]:
    """The members of the struct of inputs."""
    return [f"  int32_t {s.c_name};  /* {s.lower_bound} to {s.upper_bound} */" for s in entry.sizes]


def size_checks(entry: EntryInterface, macro_prefix: str, owner: str) -> list[str]:
    """The statements with which a run begins: it ends before it writes anything, if a size is out
    of its range.

    Parameters
    ----------
    macro_prefix
        of every macro of the module.
    owner
        the name of the entry; empty if macros have none.
    """
    error = f"{macro_prefix}_{ERROR_SIZE_MACRO}"
    lines = []
    for size in entry.sizes:
        member, macro = f"inputs->{size.c_name}", f"{macro_prefix}_{size_macro(owner, size)}"
        lines += [
            f"  if ({member} < {macro}_MIN || {member} > {macro}_MAX) {{",
            f"    return {error};",
            "  }",
        ]
    return lines


def size_macro(owner: str, size: EntrySize) -> str:
    """What the macros of a size begin with after the module's prefix.

    Parameters
    ----------
    owner
        the name of its entry; empty if macros have none.
    """
    return tensor_macro(owner, size.c_name)


def bytes_macro(entry: EntryInterface, tensor: IOTensor) -> tuple[str, str]:
    """Parameters and value of the macro that has the bytes of a tensor at some sizes.

    Raises
    ------
    ValueError
        it would leave 32 bits.
    """
    extents = tensor.symbolic_extents
    constant = int(tvm.DataType(str(tensor.info.dtype)).itemsize)
    constant *= prod(extent for extent in extents if isinstance(extent, int))
    factors: list[SizeExpression] = [] if constant == 1 else [constant]
    factors += [extent for extent in extents if not isinstance(extent, int)]
    product = reduce(lambda left, right: ["*", left, right], factors)
    parameters, value = extent_macro(entry, product)
    return parameters, f"((uint32_t){value})"


def extent_macro(entry: EntryInterface, expression: SizeExpression) -> tuple[str, str]:
    """Parameters and value of a macro that has an extent at some sizes: all of the entry, in the
    order of the struct."""
    # The parameters may be expressions; and literals may have 16 bits.
    names = {size.name: f"(int32_t)({size.c_name})" for size in entry.sizes}
    value = c_extent(expression, names, bounds_of(entry.sizes))
    return f"({', '.join(size.c_name for size in entry.sizes)})", f"({value})"
