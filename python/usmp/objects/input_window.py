"""Inputs that are windows in time; each run gets only the new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm.ir import IRModule

from usmp.objects.attributes.module_attributes import WINDOWS_ATTR


@dataclass(frozen=True)
class InputWindow:
    """A window in time, whose newest rows are an input of the module.

    Parameters
    ----------
    hop
        number of new rows in each run, which are the rows of the input.
    rows
        number of rows of the whole window.
    """

    hop: int
    rows: int


def input_windows(mod: IRModule) -> dict[str, InputWindow]:
    """Return the inputs of a module that are windows, by name, or by `ENTRY.NAME` if it has several
    entries."""
    windows = WINDOWS_ATTR.of(mod) or {}
    return {
        str(name): InputWindow(int(window["rows"]), int(window["window_rows"]))
        for name, window in windows.get("inputs", {}).items()
    }


def windows_as_json(mod: IRModule) -> dict[str, Any]:
    """Return the `windows` of metadata.json, with rows, state bytes and multiply-accumulates; empty
    without windows."""
    windows = WINDOWS_ATTR.of(mod)
    if windows is None:
        return {}
    inputs = {
        name: {"rows": window.hop, "window_rows": window.rows}
        for name, window in sorted(input_windows(mod).items())
    }
    states = {
        str(name): {"tensor": str(state["tensor"]), "rows": int(state["rows"])}
        for name, state in sorted(windows["states"].items())
    }
    numbers = {name: int(windows[name]) for name in ("state_size_bytes", "macs", "window_macs")}
    whole = [str(name) for name in windows["whole"]]
    return {"windows": {"inputs": inputs, "states": states, **numbers, "whole": whole}}
