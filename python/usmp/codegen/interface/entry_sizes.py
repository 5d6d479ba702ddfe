"""The symbolic sizes of an entry: what each run takes as members of the inputs' struct."""

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
"""What a run returns if a size is out of its range."""
ERROR_SIZE_MACRO = "ERROR_SIZE"
"""Its macro, after the module's prefix."""
TAKEN_MACROS = ("ERROR",)
"""What macros of tensors may not begin with beside it."""
_SizeBounds: TypeAlias = "tuple[int, int | None]"


def bounds_of(sizes: Sequence[EntrySize]) -> Bounds:
    """The least and the greatest value of each; an `int32_t` holds those without an upper bound."""
    return {
        size.name: (
            size.lower_bound,
            LARGEST_SIZE if size.upper_bound is None else size.upper_bound,
        )
        for size in sizes
    }


def noted_bounds(sizes: Sequence[EntrySize]) -> Bounds:
    """The same, but those without an upper bound have their lower one: so shapes are noted."""
    return {size.name: (size.lower_bound, size.noted_value) for size in sizes}


def symbolic_extents(info: TensorInfo) -> list[SizeExpression]:
    """The extents of a tensor as expressions of sizes; empty if none depends on sizes."""
    return [size_expression(extent) for extent in info.symbolic_shape]


def name_sizes(
    entries: Mapping[str, tuple[Collection[str], Sequence[SymbolicSize]]],
) -> list[list[EntrySize]]:
    """The sizes of each entry, with names in C.

    These are members of the struct of inputs, and begin the names of macros: sizes with different
    bounds need names that differ in capital letters too.

    Parameters
    ----------
    entries
        members of the struct that are taken, and sizes, by the name of the entry, which is empty
        if macros have none.
    """
    taken: dict[str, tuple[str, _SizeBounds]] = {}
    named: list[list[EntrySize]] = []
    for entry, (taken_members, sizes) in entries.items():
        named.append([])
        members = set(taken_members)
        for size in sizes:
            upper = None if size.upper_bound is None else int(size.upper_bound)
            bounds = (int(size.lower_bound), upper)
            name, number = sanitise(str(size.name)), 0
            while name in members or not _is_free(taken, entry, name, bounds):
                number += 1
                name = not_a_macro(f"{sanitise(str(size.name))}_{number}")
            taken.setdefault(_macro(entry, name), (entry, bounds))
            members.add(name)
            named[-1].append(EntrySize(str(size.name), name, *bounds))
    return named


def _macro(entry: str, name: str) -> str:
    return f"{entry}_{name}".upper() if entry else name.upper()


def _is_free(
    taken: Mapping[str, tuple[str, _SizeBounds]],
    entry: str,
    name: str,
    bounds: _SizeBounds,
) -> bool:
    """Whether macros of this name are not there, or are those of another entry and equal."""
    found = taken.get(_macro(entry, name))
    return found is None or (found[0] != entry and found[1] == bounds)
