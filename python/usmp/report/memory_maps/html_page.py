"""The memory map as a single HTML file that opens offline, with tables and interactive drawings.

The policy of the page allows only its own scripts and styles, by their digests. It forbids `eval`
and all access to the network.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape
from importlib.resources import files
from string import Template

from usmp.report.map_data import KINDS, MemoryMap, Pool
from usmp.report.memory_maps.drawing import OVERLAP, RING, legend
from usmp.report.memory_maps.page_data import page_json
from usmp.report.memory_maps.page_tables import (
    buffers_table,
    entries_table,
    name_html,
    operator_text,
    operators_table,
    pools_table,
)
from usmp.report.memory_maps.pictures import headline
from usmp.report.memory_maps.vega import vega_javascript
from usmp.report.summary.io import IO_TEXTS
from usmp.support.text.plain_text import shown

_FOLDER = "page"

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
    vega, script, style = vega_javascript(), _script(), _file("page.css")
    return Template(_file("page.html")).substitute(
        policy=_policy([vega, script], style),
        title=escape(f"Memory map of {shown(drawn.title)}"),
        heading=f"Memory map of {name_html(drawn.title)}",
        headline=escape(headline(drawn)),
        style=style,
        pools=pools_table(drawn),
        entries=entries_table(drawn),
        legend=_legend(drawn),
        maps="\n".join(_map(drawn, index, pool) for index, pool in enumerate(drawn.pools)),
        buffers=buffers_table(drawn),
        operators=operators_table(drawn),
        data=page_json(drawn),
        vega=vega,
        script=script,
    )


@cache
def _file(name: str) -> str:
    return files("usmp.report.memory_maps").joinpath(_FOLDER, name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    """Return the scripts of the page, concatenated in the order of their file names."""
    folder = files("usmp.report.memory_maps").joinpath(_FOLDER)
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".js"))
    return "\n".join(['(() => {\n"use strict";', *map(_file, names), "})();\n"])


def _policy(scripts: list[str], style: str) -> str:
    """Return the Content-Security-Policy of the page."""
    allowed = " ".join(map(_digest, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _legend(drawn: MemoryMap) -> str:
    items = []
    for words in legend(drawn.pools):
        if words in KINDS:
            swatch = f'<li data-by="kind"><span class="swatch" data-kind="{KINDS.index(words)}">'
        else:
            swatch = f'<li><span class="swatch {_SWATCHES[words]}">'
        items.append(f"{swatch}</span>{words}</li>")
    return "".join([*items, '<li data-by="operator" hidden>a color for each operator</li>'])


def _map(drawn: MemoryMap, index: int, pool: Pool) -> str:
    """Return the HTML around the drawing of a pool, with a title and zoom buttons."""
    label = escape(
        f"Map of {shown(pool.name)}: {len(pool.buffers)} buffers, peak {pool.peak_bytes} bytes. "
        "Arrow keys left and right step through buffers, up and down through operators; plus, "
        "minus and 0 zoom, shift and arrows move, Escape ends the choice.",
        quote=True,
    )
    name = escape(shown(pool.name), quote=True)
    buttons = "".join(
        f'<button type="button" data-zoom="{direction}" aria-label="{words} {name}">{sign}</button>'
        for direction, words, sign in (
            ("in", "Zoom in on", "+"),
            ("out", "Zoom out of", "&minus;"),
            ("all", "Show all of", "Show all"),
        )
    )
    return (
        f'<section class="map"><div class="map-head"><div><h3>{name_html(pool.name)}</h3>'
        f"<p>{_facts(drawn, pool)}</p></div>"
        f'<div class="zoom" role="group" aria-label="Zoom of {name}">{buttons}</div></div>'
        f'<div class="drawing" data-pool="{index}" role="application" tabindex="0" '
        f'aria-label="{label}"></div></section>'
    )


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
