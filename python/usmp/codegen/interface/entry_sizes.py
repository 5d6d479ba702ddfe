"""The symbolic sizes of an entry, which a run takes as members of the inputs' struct."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from usmp.codegen.c.names import not_a_macro, sanitise
from usmp.objects import TensorInfo
from usmp.objects.extent import size_expression
from usmp.objects.symbolic_size import SymbolicSize
from usmp.plain.entry_size import LARGEST_SIZE, EntrySize
from usmp.plain.size_expression import Bounds, SizeExpression

ERROR_SIZE = -2
"""Return value of a run if a size is out of its range."""
ERROR_SIZE_MACRO = "ERROR_SIZE"
"""Name of the macro for `ERROR_SIZE`, after the module's prefix."""
TAKEN_MACROS = ("ERROR",)
"""Names that tensors may not have in macros, so that no size macro is called `ERROR_SIZE`."""
_SizeBounds: TypeAlias = "tuple[int, int | None]"


def bounds_of(sizes: Sequence[EntrySize]) -> Bounds:
    """Return the range of each size; without an upper bound, it is limited by `int32_t`."""
    return {
        size.name: (
            size.lower_bound,
            LARGEST_SIZE if size.upper_bound is None else size.upper_bound,
        )
        for size in sizes
    }


def noted_bounds(sizes: Sequence[EntrySize]) -> Bounds:
    """Return the range of each size, from its lower bound to `noted_value`."""
    return {size.name: (size.lower_bound, size.noted_value) for size in sizes}


def symbolic_extents(info: TensorInfo) -> list[SizeExpression]:
    """Return the extents of a tensor as expressions of sizes; empty if none depends on a size."""
    return [size_expression(extent) for extent in info.symbolic_shape]


def name_sizes(
    entries: Mapping[str, tuple[Collection[str], Sequence[SymbolicSize]]],
) -> list[list[EntrySize]]:
    """Return the sizes of each entry with their C names.

    The names are members of the inputs' struct, and macro names begin with them in capitals. So
    sizes with different bounds need names that differ even in capitals.

    Parameters
    ----------
    entries
        name of the entry, or empty if macros do not contain it -> other members of the inputs'
        struct, and sizes.
    """
    holders: dict[str, tuple[str, _SizeBounds]] = {}
    named: list[list[EntrySize]] = []
    for entry, (other_members, sizes) in entries.items():
        named.append([])
        members = set(other_members)
        for size in sizes:
            upper = None if size.upper_bound is None else int(size.upper_bound)
            bounds = (int(size.lower_bound), upper)
            name, number = sanitise(str(size.name)), 0
            while name in members or not _is_free(holders, entry, name, bounds):
                number += 1
                name = not_a_macro(f"{sanitise(str(size.name))}_{number}")
            holders.setdefault(beginning_of_macros(entry, name), (entry, bounds))
            members.add(name)
            named[-1].append(EntrySize(str(size.name), name, *bounds))
    return named


def beginning_of_macros(entry: str, name: str) -> str:
    """Return the beginning of the macros of a tensor or size, after the module's prefix.

    Parameters
    ----------
    entry
        the name of the entry; empty if macros do not contain it.
    name
        the name of the tensor or size in C.
    """
    return f"{entry}_{name}".upper() if entry else name.upper()


def _is_free(
    holders: Mapping[str, tuple[str, _SizeBounds]],
    entry: str,
    name: str,
    bounds: _SizeBounds,
) -> bool:
    """Return whether the macro name is unused, or used by another entry with equal bounds."""
    holder = holders.get(beginning_of_macros(entry, name))
    return holder is None or (holder[0] != entry and holder[1] == bounds)
