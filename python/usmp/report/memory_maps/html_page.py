"""The memory map as a single HTML file that opens offline, with tables and interactive drawings."""

from __future__ import annotations

from html import escape

from usmp.report.map_data import KINDS, MemoryMap, Pool
from usmp.report.memory_maps.drawing import OVERLAP, RING, legend
from usmp.report.memory_maps.page_data import page_json
from usmp.report.memory_maps.page_tables import (
    buffers_table,
    entries_table,
    operator_text,
    operators_table,
    pools_table,
)
from usmp.report.memory_maps.pictures import headline
from usmp.report.offline_pages.offline_page import drawing_html, offline_page
from usmp.report.offline_pages.table import name_html
from usmp.report.summary.io import IO_TEXTS
from usmp.support.text.plain_text import shown

_SWATCHES = {RING: "ring", OVERLAP: "overlap"}
"""Classes of swatches in the legend that are not kinds of buffers."""


def map_page(drawn: MemoryMap) -> str:
    """Return the HTML of the page.

    Raises
    ------
    ReportExtraMissing
        the package with Vega is not installed.
    VegaFailed
        the process that prints Vega's JavaScript failed.
    """
    return offline_page(
        f"Memory map of {shown(drawn.title)}",
        "usmp.report.memory_maps",
        "page",
        heading=f"Memory map of {name_html(drawn.title)}",
        headline=escape(headline(drawn)),
        pools=pools_table(drawn),
        entries=entries_table(drawn),
        legend=_legend(drawn),
        maps="\n".join(_map(drawn, pool) for pool in drawn.pools),
        hint="Click a block of a map or a row of a table, or focus a map and press the arrow keys.",
        touch_hint="Tap a block of a map, or a row of a table, for its details.",
        show="Show on the map",
        buffers=buffers_table(drawn),
        operators=operators_table(drawn),
        data=page_json(drawn),
    )


def _legend(drawn: MemoryMap) -> str:
    items = []
    for words in legend(drawn.pools):
        if words in KINDS:
            swatch = f'<li data-by="kind"><span class="swatch" data-kind="{KINDS.index(words)}">'
        else:
            swatch = f'<li><span class="swatch {_SWATCHES[words]}">'
        items.append(f"{swatch}</span>{words}</li>")
    return "".join([*items, '<li data-by="operator" hidden>a color for each operator</li>'])


def _map(drawn: MemoryMap, pool: Pool) -> str:
    """Return the HTML around the drawing of a pool, with a title and zoom buttons."""
    label = (
        f"Map of {shown(pool.name)}: {len(pool.buffers)} buffers, peak {pool.peak_bytes} bytes. "
        "Arrow keys left and right step through buffers, up and down through operators; plus, "
        "minus and 0 zoom, shift and arrows move, Escape ends the choice."
    )
    return drawing_html(name_html(pool.name), _facts(drawn, pool), pool.name, label)


def _facts(drawn: MemoryMap, pool: Pool) -> str:
    """Return a line of facts about a pool."""
    proved = ", proved optimal" if pool.is_optimal else ""
    parts = [f"{pool.kind}: peak {pool.peak_bytes} bytes{proved}"]
    if not pool.is_optimal:
        parts.append(f"lower bound {pool.lower_bound_bytes}")
    if pool.limit_bytes is not None:
        parts.append(f"limit {pool.limit_bytes}")
    if pool.io in IO_TEXTS:
        parts.append(IO_TEXTS[pool.io])
    if pool.address is not None:
        parts.append(f"from address 0x{pool.address:x} on")
    if pool.peak_operator is not None:
        parts.append(f"most live in {name_html(operator_text(drawn, pool.peak_operator))}")
    return ", ".join(parts)
