"""The memory map as a picture: SVG and PNG, drawn by Vega."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from usmp.report.map_data import KINDS, MemoryMap, Pool
from usmp.report.memory_maps.drawing import OVERLAP, RING, legend
from usmp.report.memory_maps.themes import THEMES
from usmp.report.memory_maps.vega_layout import Spec, text_mark
from usmp.report.memory_maps.vega_panel import panel_group, panel_of, panel_signals
from usmp.support.process.vega_process import run_vega
from usmp.support.text.plain_text import shown

_WIDTH = 880
_LEFT, _RIGHT = 72, 24
_TITLE_HEIGHT = 52
_POOL_TITLE = 26
_SPACE = 26
_LEGEND_HEIGHT = 26
_MAP_HEIGHT = {"workspace": 260, "constant": 160}
_PNG_SCALE = 2.0
_CHARACTER = 6.6
"""Approximate width of a character of the legend, in pixels."""


def map_svg(drawn: MemoryMap, theme: str = "light", pools: Sequence[Pool] | None = None) -> str:
    """Return the map as SVG; see `picture_spec` for the parameters."""
    spec = picture_spec(drawn, theme, pools)
    svg = run_vega("SVG", "vega_to_svg", vg_spec=spec, allowed_base_urls=[])
    return _renumbered(svg.decode())


def _renumbered(svg: str) -> str:
    """Number the clip paths of an SVG from 0, because Vega continues its count between drawings."""
    numbers: dict[str, int] = {}

    def renumber(match: re.Match[str]) -> str:
        return f"{match[1]}{numbers.setdefault(match[2], len(numbers))}"

    return re.sub(r'( (?:clip-path="url\(#|id=")clip)([0-9]+)', renumber, svg)


def map_png(drawn: MemoryMap) -> bytes:
    """Return the map as PNG, at twice the resolution of the SVG."""
    spec = picture_spec(drawn, "light")
    return run_vega("PNG", "vega_to_png", vg_spec=spec, scale=_PNG_SCALE, allowed_base_urls=[])


def picture_spec(drawn: MemoryMap, theme: str, pools: Sequence[Pool] | None = None) -> Spec:
    """Return Vega's specification of the picture: a title, a panel for each pool, and a legend.

    Parameters
    ----------
    theme
        "light" or "dark".
    pools
        pools to draw; all by default.
    """
    colors = THEMES[theme]
    width = _WIDTH - _LEFT - _RIGHT
    y = _TITLE_HEIGHT
    groups: list[Spec] = []
    pools = drawn.pools if pools is None else pools
    for pool in pools:
        panel = panel_of(drawn, pool, _MAP_HEIGHT[pool.kind])
        groups.append(_text(_pool_title(pool), y + 14, colors["ink"], 13, "bold"))
        y += _POOL_TITLE
        group = panel_group(drawn, pool, panel)
        signals = [s for s in panel_signals(drawn, pool) if s["name"] != "theme"]
        group["signals"] = [{"name": "width", "value": width}, *signals]
        group["encode"]["update"]["y"] = {"value": y}
        groups.append(group)
        y += panel.height + _SPACE
    legend = _legend(pools, y, colors)
    return {
        "$schema": "https://vega.github.io/schema/vega/v6.json",
        "description": f"Memory map of {shown(drawn.title)}",
        "background": colors["page"],
        "autosize": "none",
        "width": _WIDTH,
        "height": y + _LEGEND_HEIGHT,
        "padding": 0,
        "signals": [{"name": "theme", "value": colors}],
        "marks": [
            {
                "type": "group",
                "encode": {"enter": {"x": {"value": _LEFT}}},
                "marks": [
                    _text(shown(drawn.title, 60), 22, colors["ink"], 16, "bold"),
                    _text(headline(drawn), 40, colors["faint"], 12, "normal"),
                    *groups,
                    *legend,
                ],
            }
        ],
    }


def headline(drawn: MemoryMap) -> str:
    """Return the total RAM and constants, and the algorithm, in one line."""
    ram = [] if drawn.ram_bytes is None else [f"RAM {drawn.ram_bytes} bytes"]
    return ", ".join([*ram, f"constants {drawn.constants_bytes} bytes"]) + (
        f"; planned by {shown(drawn.algorithm)}"
    )


def _pool_title(pool: Pool) -> str:
    proved = ", proved optimal" if pool.is_optimal else ""
    return f"{shown(pool.name, 60)}: {pool.peak_bytes} bytes{proved}"


def _text(text: str, y: float, color: str, size: int, weight: str, x: float = 0) -> Spec:
    return text_mark(text, x, y, color, size, weight, _WIDTH - _LEFT - _RIGHT)


def _legend(pools: Sequence[Pool], y: float, colors: dict[str, Any]) -> list[Spec]:
    """Return a legend with a swatch for each kind of buffer, and for rings and overlaps."""
    marks: list[Spec] = []
    x = 0.0
    for words in legend(pools):
        color = colors["kinds"][KINDS.index(words)] if words in KINDS else None
        marks.append(_swatch(x, y, color, colors["ink"], is_dashed=words == RING))
        if words == OVERLAP:
            marks += [_stripe(x + at, y, colors["ink"]) for at in (2, 8, 14)]
        marks.append(_text(words, y + 10, colors["ink"], 12, "normal", x + 24))
        x += 24 + _CHARACTER * len(words) + 18
    return marks


def _swatch(x: float, y: float, color: str | None, ink: str, is_dashed: bool) -> Spec:
    fill = {"fill": {"value": color}} if color else {}
    place = {"x": x, "y": y, "width": 18, "height": 12, "stroke": ink, "strokeWidth": 0.8}
    dash = {"strokeDash": {"value": [4, 2]}} if is_dashed else {}
    values = {name: {"value": value} for name, value in place.items()}
    return {"type": "rect", "encode": {"enter": {**values, **fill, **dash}}}


def _stripe(x: float, y: float, ink: str) -> Spec:
    place = {"x": x + 4, "y": y, "x2": x - 2, "y2": y + 12, "stroke": ink, "strokeWidth": 0.8}
    return {
        "type": "rule",
        "encode": {"enter": {name: {"value": value} for name, value in place.items()}},
    }
