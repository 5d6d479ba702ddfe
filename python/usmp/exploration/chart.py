"""A sweep as a chart: RAM against flash and instructions, with the Pareto front marked."""

from __future__ import annotations

from pathlib import Path

from usmp.exploration.html_page import sweep_page
from usmp.exploration.panel import (
    AXIS_HEIGHT,
    BEST,
    HEIGHT,
    OTHER,
    panel_group,
    panel_signals,
    panels,
)
from usmp.exploration.sweep import Sweep
from usmp.exploration.titles import headline, title
from usmp.report.memory_maps.themes import LIGHT
from usmp.report.memory_maps.vega_layout import Spec, text_mark
from usmp.support.process.vega_process import check_vega, run_vega
from usmp.support.text.plain_text import shown

_PLOT = "a plot"
_WIDTH = 380
"""Width of a plot, in pixels."""

_LEFT, _RIGHT, _TOP = 72, 24, 84

ENDINGS = (".svg", ".png", ".html")
"""The endings of files to which a chart can be written."""


def check_renderer() -> None:
    """Check that charts can be drawn.

    Raises
    ------
    ReportExtraMissing
        vl-convert-python is not installed.
    """
    check_vega(_PLOT)


def chart(sweep: Sweep, ending: str) -> bytes:
    """Return the chart as the content of a file with this ending, one of `ENDINGS`.

    Raises
    ------
    ReportExtraMissing
        vl-convert-python is not installed.
    VegaFailed
        the process that draws the picture fails.
    """
    if ending == ".html":
        return sweep_page(sweep).encode()
    spec = picture_spec(sweep)
    if ending == ".svg":
        return run_vega(_PLOT, "vega_to_svg", vg_spec=spec, allowed_base_urls=[])
    return run_vega(_PLOT, "vega_to_png", vg_spec=spec, scale=2, allowed_base_urls=[])


def picture_spec(sweep: Sweep) -> Spec:
    """Return Vega's specification of the picture: title, legend, and panels side by side."""
    drawn = panels(sweep)
    step = _LEFT + _WIDTH + _RIGHT
    width = max(step * len(drawn), step)
    groups = []
    for index, panel in enumerate(drawn):
        group = panel_group(panel)
        signals = [signal for signal in panel_signals(panel) if signal["name"] != "theme"]
        group["signals"] += [{"name": "width", "value": _WIDTH}, *signals]
        group["encode"]["update"] |= {"x": {"value": _LEFT + index * step}, "y": {"value": _TOP}}
        groups.append(group)
    limit = width - _LEFT - _RIGHT
    return {
        "$schema": "https://vega.github.io/schema/vega/v6.json",
        "description": f"Configurations of {shown(title(sweep))}",
        "background": LIGHT["page"],
        "autosize": "none",
        "width": width,
        "height": _TOP + HEIGHT + AXIS_HEIGHT,
        "padding": 0,
        "signals": [{"name": "theme", "value": LIGHT}],
        "marks": [
            text_mark(shown(title(sweep), 60), _LEFT, 24, LIGHT["ink"], 16, "bold", limit),
            text_mark(headline(sweep), _LEFT, 43, LIGHT["faint"], 12, "normal", limit),
            *_legend(BEST, "circle", _LEFT, LIGHT["best"], LIGHT["page"]),
            *_legend(OTHER, "square", _LEFT + 70, LIGHT["page"], LIGHT["faint"]),
            *groups,
        ],
    }


def _legend(words: str, shape: str, x: float, fill: str, stroke: str) -> list[Spec]:
    values = {"x": x + 6, "y": 63, "shape": shape, "size": 90, "fill": fill, "stroke": stroke}
    symbol = {name: {"value": value} for name, value in (values | {"strokeWidth": 1.5}).items()}
    return [
        {"type": "symbol", "encode": {"enter": symbol}},
        text_mark(words, x + 18, 67, LIGHT["ink"], 12, "normal", _WIDTH),
    ]


def ending_of(path: str) -> str:
    """Return the ending of a file's name, in lower case."""
    return Path(path).suffix.lower()
