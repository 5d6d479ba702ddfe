"""The plan of a compiled model as HTML, for notebooks."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from usmp.report.memory_maps.pictures import map_svg
from usmp.report.read_map_data import map_of_metadata
from usmp.report.title import title_of
from usmp.support.process.vega_process import ReportExtraMissing, VegaFailed
from usmp.support.text.plain_text import shown

_HEADINGS = ("pool", "kind", "peak bytes", "lower bound", "optimal")


Tensors = tuple[Sequence[str], Sequence[str]]
"""Inputs and outputs, each as text with its name, element type and shape."""


def memory_html(metadata: Mapping[str, Any], entries: Mapping[str, Tensors]) -> str:
    """Return HTML with the RAM, a table of the pools, the tensors of each entry, and the map.

    The HTML has no scripts and loads nothing. Texts of the model are escaped. The map is
    missing if the optional dependencies `report` are not installed, or if Vega fails.

    Parameters
    ----------
    metadata
        metadata of one module of an archive.
    entries
        tensors of each entry, by name.
    """
    memory = metadata["memory"]
    rows = [
        (
            pool["name"],
            pool["kind"],
            pool["peak_bytes"],
            pool["lower_bound_bytes"],
            "yes" if pool["optimal"] else "unknown",
        )
        for pool in sorted(memory["pools"], key=lambda pool: pool["kind"] == "constant")
    ]
    name, ram = _text(title_of(metadata)), memory["ram"]["size_bytes"]
    return "\n".join(
        [
            "<div>",
            f"<p><b>{name}</b>: RAM {ram} bytes ({_text(memory['algorithm'])})</p>",
            "<table>",
            f"<thead>{_row(_HEADINGS, 'th')}</thead>",
            f"<tbody>{''.join(_row(row, 'td') for row in rows)}</tbody>",
            "</table>",
            *(_entry(entry if len(entries) > 1 else "", *own) for entry, own in entries.items()),
            *_pictures(metadata),
            "</div>",
        ]
    )


def _entry(name: str, inputs: Sequence[str], outputs: Sequence[str]) -> str:
    title = f"Entry <b>{_text(name)}</b><br>" if name else ""
    return f"<p>{title}{_tensors('Inputs', inputs)}<br>{_tensors('Outputs', outputs)}</p>"


def _pictures(metadata: Mapping[str, Any]) -> list[str]:
    """Return the memory map as an image, so that its text cannot be HTML; empty without Vega."""
    try:
        drawing = map_svg(map_of_metadata(metadata)).encode()
    except (ReportExtraMissing, VegaFailed):
        return []
    words = escape(f"Memory map of {shown(title_of(metadata))}", quote=True)
    encoded = base64.b64encode(drawing).decode()
    return [
        f'<img alt="{words}" style="max-width: 100%" src="data:image/svg+xml;base64,{encoded}">'
    ]


def _text(text: object) -> str:
    return escape(shown(text))


def _row(cells: Iterable[object], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{_text(cell)}</{tag}>' for cell in cells)}</tr>"


def _tensors(title: str, tensors: Sequence[str]) -> str:
    return f"{title}: {', '.join(f'<code>{_text(tensor)}</code>' for tensor in tensors)}"
