"""What the summary says of inputs and outputs that come and go by rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from usmp.report.counts import shortened
from usmp.support.plain_text import shown


def rows_sentence(metadata: Mapping[str, Any]) -> str | None:
    """Which inputs and outputs come and go by rows; None if none does.

    Parameters
    ----------
    metadata
        of one module of an archive.
    """
    found = [
        f'{side} "{shown(name)}" ({tensor["by_rows"]["rows"]} rows of '
        f"{tensor['by_rows']['row_size']} bytes)"
        for main in metadata["memory"]["functions"]["main"]
        for side in ("input", "output")
        for name, tensor in main.get(f"{side}s", {}).items()
        if "by_rows" in tensor
    ]
    return f"Given or taken row by row: {', '.join(found)}." if found else None


def windows_sentence(metadata: Mapping[str, Any]) -> str | None:
    """What a run is given of windows, keeps and computes; None if there are no windows.

    Parameters
    ----------
    metadata
        of one module of an archive.
    """
    said = metadata.get("windows")
    if said is None:
        return None
    inputs = ", ".join(
        f'{window["rows"]} of the {window["window_rows"]} rows of input "{shown(name)}"'
        for name, window in said["inputs"].items()
    )
    whole = ", ".join(map(shown, said["whole"]))
    ending = f"; {whole} and what follows take whole windows" if whole else ""
    macs = f"{shortened(said['window_macs'])} -> {shortened(said['macs'])} MACs"
    return (
        f"Each run takes {inputs}, and keeps {said['state_size_bytes']} bytes of windows as state: "
        f"{macs}{ending}."
    )
