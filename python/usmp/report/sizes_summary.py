"""What the summary says of symbolic sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from usmp.support.plain_text import printable, shown


def sizes_sentence(metadata: Mapping[str, Any]) -> str | None:
    """The sizes with their bounds, by entry if there are several; None without sizes."""
    mains = metadata["memory"]["functions"]["main"]
    found = []
    for main in mains:
        if "sizes" in main:
            sizes = ", ".join(
                f"{shown(name)} {_bounds(size)}" for name, size in main["sizes"].items()
            )
            found.append(f"{shown(main['entry'])}: {sizes}" if len(mains) > 1 else sizes)
    if not found:
        return None
    computed = [size for main in mains for size in main.get("workspace_sizes", ())]
    if not computed:
        return f"Sizes: {'; '.join(found)}{_planned(mains)}"
    needed = " ".join(
        f'Workspace pool "{shown(size["pool"])}" takes these bytes of a run: '
        f"{printable(size['text'])}."
        for size in computed
    )
    return f"Sizes: {'; '.join(found)}; offsets are computed from them. {needed}"


def _bounds(size: Mapping[str, Any]) -> str:
    return f"{size['min']} or more" if size["max"] is None else f"{size['min']} to {size['max']}"


def _planned(mains: Sequence[Mapping[str, Any]]) -> str:
    """What the plan holds for, and which inputs and outputs have no number of bytes."""
    sizes = [size for main in mains for size in main.get("sizes", {}).values()]
    unbounded = [
        shown(name)
        for main in mains
        for name, tensor in {**main["inputs"], **main["outputs"]}.items()
        if tensor["size"] is None
    ]
    if not unbounded:
        return "; planned at the largest."
    are_bounded = any(size["max"] is not None for size in sizes)
    planned = "; planned at the largest, where there is one." if are_bounded else "."
    names = ", ".join(dict.fromkeys(unbounded))
    return f"{planned} The bytes of {names} depend on the run, and are in no number below."


def has_fixed_offsets(metadata: Mapping[str, Any]) -> bool:
    """Whether inputs and outputs could have places in the workspace, which are those of all sizes:
    no offsets are computed, and no size is without an upper bound."""
    mains = metadata["memory"]["functions"]["main"]
    sizes = [size for main in mains for size in main.get("sizes", {}).values()]
    computed = any("workspace_sizes" in main for main in mains)
    return not computed and all(size["max"] is not None for size in sizes)
