"""Inputs that are windows of time, of which each run is given the rows that are new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm.ir import IRModule

from usmp.objects.attributes import WINDOWS_ATTR


@dataclass(frozen=True)
class InputWindow:
    """A window, of which an input of the module has the newest rows.

    Parameters
    ----------
    hop
        how many rows are new in each run: those of the input.
    rows
        of the whole window.
    """

    hop: int
    rows: int


def input_windows(mod: IRModule) -> dict[str, InputWindow]:
    """The inputs of a module that are windows, by name."""
    said = WINDOWS_ATTR.of(mod) or {}
    return {
        str(name): InputWindow(int(window["rows"]), int(window["window_rows"]))
        for name, window in said.get("inputs", {}).items()
    }


def windows_as_json(mod: IRModule) -> dict[str, Any]:
    """What runs are given of windows, keep and compute, as `windows` of metadata.json; nothing if
    there are no windows."""
    said = WINDOWS_ATTR.of(mod)
    if said is None:
        return {}
    inputs = {
        name: {"rows": window.hop, "window_rows": window.rows}
        for name, window in sorted(input_windows(mod).items())
    }
    numbers = {name: int(said[name]) for name in ("state_size_bytes", "macs", "window_macs")}
    return {"windows": {"inputs": inputs, **numbers, "whole": [str(n) for n in said["whole"]]}}
