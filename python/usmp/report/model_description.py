"""What a model file or an archive has, as a person reads it, and for other programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from usmp.objects.size_expression import shape_text
from usmp.support.plain_text import shown

Tensors = Sequence[Mapping[str, Any]]
"""Name, dtype, shape, scale and zero point of each; an extent that is not known is None, and one
that depends on sizes is text."""


def print_description(description: Mapping[str, Any], console: Console | None = None) -> None:
    """Print what `description_json` writes as tables."""
    console = console or Console(highlight=False)
    _print_line(console, f"{description['file']}: {description['format']}")
    for module in description.get("modules", [description]):
        if "name" in module:
            _print_line(console, f'module "{module["name"]}", C symbols {module["c_prefix"]}_*')
        for entry in module.get("entries", [module]):
            # The title of a table would break where the table ends.
            if "entry" in entry:
                _print_line(console, f"inputs and outputs of entry {shown(entry['entry'])}")
            console.print(_tensor_table(entry))
            if entry.get("sizes"):
                _print_line(console, f"Sizes: {', '.join(map(_size, entry['sizes']))}")
            if entry["states"] is None:
                _print_line(console, "States: not known, since the model cannot be imported")
            elif entry["states"]:
                _print_line(console, f"States: {', '.join(map(_state, entry['states']))}")
        if "entries" in module and module.get("sizes"):
            _print_line(console, f"Sizes: {', '.join(map(_size, module['sizes']))}")
        if module.get("pools"):
            console.print(_table("pools", ("name", "kind", "bytes"), module["pools"]))
        if module.get("state_size_bytes"):
            _print_line(console, f"State between runs: {module['state_size_bytes']} bytes")
        if "operators" in module:
            rows = [{"operator": shown(n), "count": c} for n, c in module["operators"].items()]
            console.print(_table("operators", ("operator", "count"), rows))
        if module.get("signatures"):
            _print_line(console, f"Signatures: {', '.join(map(shown, module['signatures']))}")


def description_json(description: Mapping[str, Any]) -> str:
    """The description as JSON, with a line end."""
    return json.dumps(description, indent=2) + "\n"


def _print_line(console: Console, line: str) -> None:
    console.print(Text(line), soft_wrap=True)


def _state(state: Mapping[str, Any]) -> str:
    changed = "" if state["changed"] else ", only read"
    return f"{shown(state['name'])} ({state['bytes']} bytes{changed})"


def _size(size: Mapping[str, Any]) -> str:
    name, lower, upper = shown(size["name"]), size["lower_bound"], size["upper_bound"]
    if size["taken_as"] is not None:
        return f"{name} (taken as {size['taken_as']}, unless --max {name}=N says more)"
    if upper is None:
        return f"{name} ({lower} and more; --max {name}=N says how large it may be)"
    return f"{name} ({lower} to {upper})"


def _tensor_table(module: Mapping[str, Any]) -> Table:
    rows = [
        {"": side, **_tensor_cells(tensor)}
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


def _table(title: str, headings: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(
        title=Text(title) if title else None,
        title_justify="left",
        box=SIMPLE_HEAD,
        collapse_padding=True,
    )
    for heading in headings:
        is_number = heading in ("bytes", "count", "scale", "zero point")
        table.add_column(
            heading, overflow="fold", justify="right" if is_number else "left", no_wrap=is_number
        )
    for row in rows:
        # Names are Text, so that rich does not take "[b]" or ":a:" in them for markup.
        table.add_row(*(Text(str(row[heading])) for heading in headings))
    return table
