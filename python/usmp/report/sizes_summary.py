"""What the summary says of symbolic sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from usmp.support.plain_text import printable, shown


def sizes_sentence(metadata: Mapping[str, Any]) -> str | None:
    """The sizes with their bounds, by entry if there are several; None without sizes."""
    mains = metadata["memory"]["functions"]["main"]
    found = []
    for main in mains:
        if "sizes" in main:
            sizes = ", ".join(
                f"{shown(name)} {size['min']} to {size['max']}"
                for name, size in main["sizes"].items()
            )
            found.append(f"{shown(main['entry'])}: {sizes}" if len(mains) > 1 else sizes)
    if not found:
        return None
    computed = [size for main in mains for size in main.get("workspace_sizes", ())]
    if not computed:
        return f"Sizes: {'; '.join(found)}; planned at the largest."
    needed = " ".join(
        f'Workspace pool "{shown(size["pool"])}" takes these bytes of a run: '
        f"{printable(str(size['text']))}."
        for size in computed
    )
    return f"Sizes: {'; '.join(found)}; offsets are computed from them. {needed}"
