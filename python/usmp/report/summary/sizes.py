"""The sentences of the summary about symbolic sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from usmp.support.text.plain_text import printable, shown


def sizes_sentence(metadata: Mapping[str, Any]) -> str | None:
    """Return a sentence with the symbolic sizes of each entry and their bounds, or None if there
    are none."""
    mains = metadata["memory"]["functions"]["main"]
    texts = []
    for main in mains:
        if "sizes" in main:
            sizes = ", ".join(
                f"{shown(name)} {_bounds(size)}" for name, size in main["sizes"].items()
            )
            texts.append(f"{shown(main['entry'])}: {sizes}" if len(mains) > 1 else sizes)
    if not texts:
        return None
    computed = [size for main in mains for size in main.get("workspace_sizes", ())]
    if not computed:
        return f"Sizes: {'; '.join(texts)}{_planned(mains)}"
    needed = " ".join(
        f'Workspace pool "{shown(size["pool"])}" takes these bytes of a run: '
        f"{printable(size['text'])}."
        for size in computed
    )
    return f"Sizes: {'; '.join(texts)}; offsets are computed from them. {needed}"


def _bounds(size: Mapping[str, Any]) -> str:
    return f"{size['min']} or more" if size["max"] is None else f"{size['min']} to {size['max']}"


def _planned(mains: Sequence[Mapping[str, Any]]) -> str:
    """Return the sizes at which memory is planned, and the tensors without an upper bound."""
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
    """Return whether inputs and outputs could be planned in the workspace, at offsets for all
    sizes: no offset is computed, and each size has an upper bound."""
    mains = metadata["memory"]["functions"]["main"]
    sizes = [size for main in mains for size in main.get("sizes", {}).values()]
    computed = any("workspace_sizes" in main for main in mains)
    return not computed and all(size["max"] is not None for size in sizes)
