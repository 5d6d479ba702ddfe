"""The sentence of the summary about operators that share code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def code_sentence(metadata: Mapping[str, Any]) -> str | None:
    """Return a sentence about merged functions, or None if merging is off.

    Parameters
    ----------
    metadata
        metadata of one module of an archive.
    """
    merged = metadata.get("merged_functions")
    if merged is None:
        return None
    before, after = sum(map(len, merged.values())), len(merged)
    result = f"{before} functions of operators became {after}" if merged else "nothing is similar"
    return f"Operators that differ in integers only share code (tir.usmp.code): {result}."
