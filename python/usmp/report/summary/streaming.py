"""The sentences of the summary about inputs and outputs that are streamed by rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from usmp.report.counts import shortened
from usmp.support.text.plain_text import shown


def rows_sentence(metadata: Mapping[str, Any]) -> str | None:
    """Return a sentence about the inputs and outputs that are streamed by rows, or None.

    Parameters
    ----------
    metadata
        metadata of one module of an archive.
    """
    mains = metadata["memory"]["functions"]["main"]
    owners = [f"{main['entry']}." if len(mains) > 1 else "" for main in mains]
    streamed = [
        f'{side} "{owner}{shown(name)}" ({tensor["by_rows"]["rows"]} rows of '
        f"{tensor['by_rows']['row_size']} bytes)"
        for owner, main in zip(owners, mains, strict=True)
        for side in ("input", "output")
        for name, tensor in main.get(f"{side}s", {}).items()
        if "by_rows" in tensor
    ]
    return f"Given or taken row by row: {', '.join(streamed)}." if streamed else None


def windows_sentence(metadata: Mapping[str, Any]) -> str | None:
    """Return a sentence about sliding windows (new rows, state and MACs of a run), or None.

    Parameters
    ----------
    metadata
        metadata of one module of an archive.
    """
    info = metadata.get("windows")
    if info is None:
        return None
    inputs = ", ".join(
        f'{window["rows"]} of the {window["window_rows"]} rows of input "{shown(name)}"'
        for name, window in info["inputs"].items()
    )
    whole = ", ".join(map(shown, info["whole"]))
    ending = f"; {whole} and what follows take whole windows" if whole else ""
    macs = f"{shortened(info['window_macs'])} -> {shortened(info['macs'])} MACs"
    return (
        f"Each run takes {inputs}, and keeps {info['state_size_bytes']} bytes of windows as state: "
        f"{macs}{ending}."
    )
