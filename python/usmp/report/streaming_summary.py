"""What the summary says of operators that run interleaved."""

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


def streaming_sentence(metadata: Mapping[str, Any]) -> str | None:
    """Which operators run interleaved, and what that saves; None if none could.

    Parameters
    ----------
    metadata
        of one module of an archive.
    """
    memory = metadata["memory"]
    said = memory.get("streaming")
    if said is None:
        return None
    segments = [
        segment for call in metadata.get("operators", ()) for segment in call.get("segments", ())
    ]
    if not segments:
        return "No operators run row by row: their plan would not be smaller."
    parts = ", ".join(
        f"{shown(segment['operators'][0])} to {shown(segment['operators'][-1])} "
        f"({len(segment['operators'])} operators, by {shown(segment['by'])})"
        for segment in segments
    )
    tensors = sum(segment["tensor_size_bytes"] for segment in segments)
    rings = sum(segment["ring_size_bytes"] for segment in segments)
    saved = f"{tensors} bytes of tensors between them are {rings} bytes of rings"
    if "unstreamed_peak_bytes" in said:
        saved += f"; workspace {said['unstreamed_peak_bytes']} -> {_workspace(memory)} bytes"
    if "least_live_bytes" in said:
        saved += f", and no choice of operators takes less than {said['least_live_bytes']}"
    return f"Run interleaved: {parts}; {saved} (tir.usmp.streaming=0 runs one after the other)."


def _workspace(memory: Mapping[str, Any]) -> int:
    """The peaks of all workspace pools together."""
    return sum(p["peak_bytes"] for p in memory["pools"] if p["kind"] == "workspace")
