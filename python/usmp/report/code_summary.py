"""What the summary says of operators that share code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def code_sentence(metadata: Mapping[str, Any]) -> str | None:
    """How many functions became how many; None if none, and the code is not to be small.

    Parameters
    ----------
    metadata
        of one module of an archive.
    """
    merged = metadata.get("merged_functions")
    if merged is None:
        return None
    before, after = sum(map(len, merged.values())), len(merged)
    what = f"{before} functions of operators became {after}" if merged else "nothing is similar"
    return f"Operators that differ in integers only share code (tir.usmp.code): {what}."
