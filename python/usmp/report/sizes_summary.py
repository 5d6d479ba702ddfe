"""What the summary says of symbolic sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from usmp.support.plain_text import shown


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
    return f"Sizes: {'; '.join(found)}; planned at the largest." if found else None
