"""Read the symbolic sizes and shapes of an archived module from its metadata, with checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from usmp.plain.entry_size import LARGEST_SIZE, EntrySize
from usmp.plain.size_expression import (
    SizeExpression,
    computed_text,
    extent_range,
    is_size_expression,
    shape_at,
    shape_text,
    sizes_in,
)
from usmp.runtime.archived.read_metadata import (
    DamagedMetadata,
    is_identifier,
    is_list_of,
    is_text,
    read_value,
)
from usmp.support.text.plain_text import shown


def read_sizes(main: Mapping[str, Any], where: str) -> dict[str, EntrySize]:
    """Read the symbolic sizes of an entry in metadata.json, if there are any.

    Raises
    ------
    DamagedMetadata
        a value is missing, has the wrong type, or contradicts another value.
    """
    if "sizes" not in main:
        return {}
    sizes = read_value(main, "sizes", lambda value: isinstance(value, dict), where)
    entry_sizes = {name: _size(name, size, where) for name, size in sizes.items()}
    if "workspace_sizes" in main:
        _check_workspace_sizes(main, entry_sizes, where)
    return entry_sizes


def _check_workspace_sizes(
    main: Mapping[str, Any], sizes: Mapping[str, EntrySize], where: str
) -> None:
    """Check the expressions of the workspace sizes of a run, and their text."""
    is_object = is_list_of(lambda value: isinstance(value, dict))
    for workspace in read_value(main, "workspace_sizes", is_object, where):
        pool = read_value(workspace, "pool", is_text, where)
        _check_bytes_of_run(workspace, set(sizes), f'what "{shown(pool)}" of {where} takes')


def _check_bytes_of_run(workspace: Mapping[str, Any], known: set[str], where: str) -> None:
    """Check the expressions of a pool's size, and their text. They may use the names in `known`."""

    def is_value(pair: Any) -> bool:
        is_new = isinstance(pair, list) and len(pair) == 2 and is_identifier(pair[0])
        if not is_new or pair[0] in known or not is_size_expression(pair[1], known):
            return False
        known.add(pair[0])
        return True

    values = read_value(workspace, "values", is_list_of(is_value), where)
    result = read_value(workspace, "bytes", lambda value: is_size_expression(value, known), where)
    text = computed_text([(name, value) for name, value in values], result)
    read_value(workspace, "text", lambda value: value == text, where)


def _size(name: str, size: Any, where: str) -> EntrySize:
    where = f'size "{shown(name)}" of {where}'
    low = read_value(size, "min", _is_bound, where)

    def is_upper_bound(value: Any) -> bool:
        return value is None or (_is_bound(value) and value >= low)

    high = read_value(size, "max", is_upper_bound, where)
    return EntrySize(name, read_value(size, "c_name", is_identifier, where), low, high)


def _is_bound(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST_SIZE


def is_unbounded(extents: Sequence[SizeExpression], sizes: Mapping[str, EntrySize]) -> bool:
    """Return whether a tensor depends on a size without an upper bound."""
    names = [name for extent in extents for name in sizes_in(extent)]
    return any(sizes[name].upper_bound is None for name in names)


def read_extents(
    tensor: Mapping[str, Any],
    shape: Sequence[int],
    sizes: Mapping[str, EntrySize],
    where: str,
) -> list[SizeExpression]:
    """Read the symbolic extents of a tensor; empty if no extent is symbolic.

    Parameters
    ----------
    tensor
        value of the tensor in metadata.json.
    shape
        extents at the upper bounds of sizes, or at the lower bounds of unbounded sizes.
    sizes
        symbolic sizes of the entry.
    where
        name of the tensor in errors.

    Raises
    ------
    DamagedMetadata
        an extent is no expression of the sizes, has another maximum than in `shape`, or differs
        from its text; or the tensor is streamed by rows.
    """
    if "symbolic_shape" not in tensor:
        return []

    def is_shape(value: Any) -> bool:
        is_computed = isinstance(value, list) and len(value) == len(shape)
        return is_computed and all(is_size_expression(extent, sizes) for extent in value)

    extents: list[SizeExpression] = read_value(tensor, "symbolic_shape", is_shape, where)
    bounds = {name: (size.lower_bound, size.noted_value) for name, size in sizes.items()}
    largest = {name: high for name, (_, high) in bounds.items()}
    ranges = [extent_range(extent, bounds) for extent in extents]
    if shape_at(extents, largest) != shape or [high for _, high in ranges] != shape:
        raise DamagedMetadata(
            f"{where} of shape {shown(shape_text(extents))} is not {list(shape)} at most, as it "
            "says"
        )
    text = shape_text(extents)
    read_value(tensor, "symbolic_shape_text", lambda value: value == text, where)
    if "by_rows" in tensor:
        raise DamagedMetadata(f"{where} is given or taken by rows, and depends on sizes")
    return extents
