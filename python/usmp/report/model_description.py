"""The description of a model file or an archive, as tables and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from usmp.plain.size_expression import shape_text
from usmp.report.text_tables import TextTable, print_table, print_text
from usmp.support.text.plain_text import shown

_NUMBERS = ("bytes", "count", "scale", "zero point")
"""Headings of columns with numbers."""

Tensors = Sequence[Mapping[str, Any]]
"""Name, dtype, shape, scale and zero point of each tensor. An unknown extent is None; a symbolic
extent is text."""


def print_description(description: Mapping[str, Any], console: Console | None = None) -> None:
    """Print the description of a model file or of an archive, as tables and sentences."""
    console = console or Console(highlight=False)
    print_text(f"{description['file']}: {description['format']}", console)
    for module in description.get("modules", [description]):
        if "name" in module:
            print_text(f'module "{module["name"]}", C symbols {module["c_prefix"]}_*', console)
        for entry in module.get("entries", [module]):
            if "entry" in entry:
                print_text(f"inputs and outputs of entry {shown(entry['entry'])}", console)
            print_table(_tensor_table(entry), console)
            if entry.get("sizes"):
                print_text(f"Sizes: {', '.join(map(_size, entry['sizes']))}", console)
            if entry["states"] is None:
                print_text("States: not known, since the model cannot be imported", console)
            elif entry["states"]:
                print_text(f"States: {', '.join(map(_state, entry['states']))}", console)
        if "entries" in module and module.get("sizes"):
            print_text(f"Sizes: {', '.join(map(_size, module['sizes']))}", console)
        if module.get("pools"):
            print_table(_table("pools", ("name", "kind", "bytes"), module["pools"]), console)
        if module.get("state_size_bytes"):
            print_text(f"State between runs: {module['state_size_bytes']} bytes", console)
        if "operators" in module:
            rows = [{"operator": shown(n), "count": c} for n, c in module["operators"].items()]
            print_table(_table("operators", ("operator", "count"), rows), console)
        if module.get("signatures"):
            print_text(_signatures(module["signatures"]), console)


def description_json(description: Mapping[str, Any]) -> str:
    """Return the description of a model file or of an archive as JSON, with a line end."""
    return json.dumps(description, indent=2) + "\n"


def _state(state: Mapping[str, Any]) -> str:
    changed = "" if state["changed"] else ", only read"
    return f"{shown(state['name'])} ({state['bytes']} bytes{changed})"


def _size(size: Mapping[str, Any]) -> str:
    name, lower, upper = shown(size["name"]), size["lower_bound"], size["upper_bound"]
    if size["taken_as"] is not None:
        assumption = f"taken as {size['taken_as']}; --input-shapes gives another number"
        return f"{name} ({assumption}, --max {name}=N a range)"
    if upper is None:
        return f"{name} ({lower} and more; --max {name}=N says how large it may be)"
    return f"{name} ({lower} to {upper})"


def _tensor_table(module: Mapping[str, Any]) -> TextTable:
    rows = [
        {"": f"{side}, updated" if tensor.get("updated") else side, **_tensor_cells(tensor)}
        for side in ("input", "output")
        for tensor in module[f"{side}s"]
    ]
    quantized = ("scale", "zero point") if any(row["scale"] for row in rows) else ()
    title = "" if "entry" in module else "inputs and outputs"
    return _table(title, ("", "name", "type", "shape", *quantized), rows)


def _tensor_cells(tensor: Mapping[str, Any]) -> dict[str, str]:
    is_quantized = tensor["scale"] is not None
    return {
        "name": shown(tensor["name"]),
        "type": tensor["dtype"],
        "shape": _shape(tensor),
        "scale": f"{tensor['scale']:g}" if is_quantized else "",
        "zero point": str(tensor["zero_point"]) if is_quantized else "",
    }


def _shape(tensor: Mapping[str, Any]) -> str:
    if "symbolic_shape" in tensor:
        return shown(shape_text(tensor["symbolic_shape"]))
    words = ["?" if extent is None else shown(extent) for extent in tensor["shape"]]
    if any(isinstance(extent, str) for extent in tensor["shape"]):
        return f"[{', '.join(words)}]"
    return "x".join(words) or "scalar"


def _table(title: str, headings: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> TextTable:
    numbers = {i for i, heading in enumerate(headings) if heading in _NUMBERS}
    cells = [[str(row[heading]) for heading in headings] for row in rows]
    return TextTable(title, headings, cells, numbers=frozenset(numbers))


def _signatures(keys: Sequence[str]) -> str:
    """Return a sentence about the signatures of a file, which are all compiled."""
    if len(keys) == 1:
        return f"Signature: {shown(keys[0])}, which is compiled"
    return f"Signatures: {', '.join(map(shown, keys))}, each compiled as an entry"
