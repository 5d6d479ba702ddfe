"""Symbolic sizes in C: extents as expressions, members of structs, macros, checks in a run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from math import prod

import tvm

from usmp.codegen.interface.entry_interface import EntryInterface, IOTensor
from usmp.codegen.interface.entry_sizes import ERROR_SIZE_MACRO, beginning_of_macros, bounds_of
from usmp.plain.entry_size import LARGEST_SIZE, EntrySize
from usmp.plain.size_expression import Bounds, SizeExpression, expression_text, extent_range

_LARGEST_OF_64_BITS = 2**63 - 1
_CLAMP = 2**31
"""Limit of factors whose product might overflow 64 bits; no tensor has so many bytes."""
_NOTATION = {"//": "/", "min": "({0} < {1} ? {0} : {1})", "max": "({0} > {1} ? {0} : {1})"}


def shape_comment(entry: EntryInterface, tensor: IOTensor) -> str:
    """Return the element type and extents of a tensor, as text for a comment."""
    extents = tensor.symbolic_extents
    if not extents:
        return f"{tensor.info.dtype}{[int(e) for e in tensor.info.shape]}"
    bounds, names = bounds_of(entry.sizes), {size.name: size.c_name for size in entry.sizes}
    return f"{tensor.info.dtype}[{', '.join(c_extent(e, names, bounds) for e in extents)}]"


def c_extent(
    expression: SizeExpression,
    names: Mapping[str, str],
    bounds: Bounds,
    largest: int = LARGEST_SIZE,
) -> str:
    """Return an extent as an expression in C.

    C rounds quotients towards zero, so a multiple of the divisor is added to a dividend that may be
    negative.

    Parameters
    ----------
    expression
        an expression of sizes.
    names
        C text for each size.
    bounds
        ranges of the sizes.
    largest
        largest value of the type in which the expression is computed.

    Raises
    ------
    ValueError
        the expression may overflow this type.
    """
    return expression_text(_rounding_down(expression, bounds, largest), names, _NOTATION)


def _rounding_down(expression: SizeExpression, bounds: Bounds, largest: int) -> SizeExpression:
    """Return an equal expression without negative dividends, for which C's division is right."""
    if not isinstance(expression, list):
        return expression
    operator, *sides = expression
    left, right = (_rounding_down(side, bounds, largest) for side in sides)
    if operator not in ("//", "%"):
        return [operator, left, right]
    divisor, (low, high) = int(sides[1]), extent_range(sides[0], bounds)
    added = max(0, -(low // divisor))
    if high + added * divisor > largest:
        bits = largest.bit_length() + 1
        raise ValueError(f"an extent may leave {bits} bits; give the sizes smaller upper bounds")
    if added == 0:
        return [operator, left, divisor]
    shifted = [operator, ["+", left, added * divisor], divisor]
    return shifted if operator == "%" else ["-", shifted, added]


def size_members(entry: EntryInterface) -> list[str]:
    """Return the sizes as members of the struct of inputs."""
    return [f"  int32_t {s.c_name};  /* {bounds_text(s)} */" for s in entry.sizes]


def bounds_text(size: EntrySize) -> str:
    """Return the range of a size in words."""
    if size.upper_bound is None:
        return f"{size.lower_bound} or more"
    return f"{size.lower_bound} to {size.upper_bound}"


def size_checks(entry: EntryInterface, macro_prefix: str, owner: str) -> list[str]:
    """Return the checks of sizes at the start of a run. They end the run, before it writes
    anything, if a size is out of its range, or an input or output is too large for its indices.

    Parameters
    ----------
    macro_prefix
        prefix of the module's macros.
    owner
        the name of the entry; empty if macros do not contain it.
    """
    error = f"{macro_prefix}_{ERROR_SIZE_MACRO}"
    lines = []
    for size in entry.sizes:
        member, macro = f"inputs->{size.c_name}", f"{macro_prefix}_{size_macro(owner, size)}"
        is_above = "" if size.upper_bound is None else f" || {member} > {macro}_MAX"
        lines += [f"  if ({member} < {macro}_MIN{is_above}) {{", f"    return {error};", "  }"]
    sizes = ", ".join(f"inputs->{size.c_name}" for size in entry.sizes)
    for tensor in (t for t in (*entry.inputs, *entry.outputs) if entry.is_unbounded(t)):
        size_bytes = f"{macro_prefix}_{beginning_of_macros(owner, tensor.c_name)}_BYTES({sizes})"
        is_too_large = f"{size_bytes} > UINT64_C({LARGEST_SIZE})"
        lines += [f"  if ({is_too_large}) {{", f"    return {error};", "  }"]
    return lines


def size_macro(owner: str, size: EntrySize) -> str:
    """Return the beginning of a size's macro names after the module's prefix.

    Parameters
    ----------
    owner
        the name of the entry; empty if macros do not contain it.
    """
    return beginning_of_macros(owner, size.c_name)


def bytes_macro(entry: EntryInterface, tensor: IOTensor) -> tuple[str, str]:
    """Return parameters and value of the macro that computes the bytes of a tensor from sizes.

    The value has 32 bits, or 64 if it depends on a size without an upper bound. It is exact up to
    `LARGEST_SIZE`; the value for a larger tensor is only known to be greater than that.

    Raises
    ------
    ValueError
        an extent may not fit into 32 or 64 bits.
    """
    extents = tensor.symbolic_extents
    constant = int(tvm.DataType(str(tensor.info.dtype)).itemsize)
    constant *= prod(extent for extent in extents if isinstance(extent, int))
    factors: list[SizeExpression] = [] if constant == 1 else [constant]
    factors += [extent for extent in extents if not isinstance(extent, int)]
    is_unbounded = entry.is_unbounded(tensor)
    bounds = bounds_of(entry.sizes)

    def multiply(left: SizeExpression, right: SizeExpression) -> SizeExpression:
        product: SizeExpression = ["*", left, right]
        if not is_unbounded or extent_range(product, bounds)[1] <= _LARGEST_OF_64_BITS:
            return product
        return ["*", ["min", left, _CLAMP], ["min", right, _CLAMP]]

    parameters, value = extent_macro(entry, reduce(multiply, factors), is_unbounded)
    return parameters, f"((uint{64 if is_unbounded else 32}_t){value})"


def extent_macro(
    entry: EntryInterface, expression: SizeExpression, is_unbounded: bool
) -> tuple[str, str]:
    """Return parameters and value of the macro that computes an extent from sizes.

    The parameters are all sizes of the entry, in the order of the struct.

    Parameters
    ----------
    is_unbounded
        whether the extent is computed in 64 bits.
    """
    # Convert and parenthesize, because arguments may be expressions, or `int` of 16 bits.
    bits, largest = (64, _LARGEST_OF_64_BITS) if is_unbounded else (32, LARGEST_SIZE)
    names = {size.name: f"(int{bits}_t)({size.c_name})" for size in entry.sizes}
    value = c_extent(expression, names, bounds_of(entry.sizes), largest)
    return f"({', '.join(size.c_name for size in entry.sizes)})", f"({value})"
