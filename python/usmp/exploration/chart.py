"""A sweep as a chart: RAM against flash and instructions, with the Pareto front marked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from usmp.exploration.result import BUILT
from usmp.exploration.sweep import Row, Sweep
from usmp.support.process.vega_process import check_vega, run_vega
from usmp.support.text.plain_text import shown

_FUNCTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    ".svg": ("vegalite_to_svg", {}),
    ".png": ("vegalite_to_png", {"scale": 2}),
    ".html": ("vegalite_to_html", {"bundle": True}),
}
ENDINGS = tuple(_FUNCTIONS)
"""The endings of files to which a chart can be written."""

_PLOT = "a plot"

_SIDE = 320
_COLORS = {"best": "#0b6e4f", "other": "#9aa0a6"}
_TITLES = {
    "ram_bytes": "RAM (bytes)",
    "flash_bytes": "flash (bytes)",
    "instructions": "instructions of a run (estimate)",
}


def check_renderer() -> None:
    """Check that charts can be drawn.

    Raises
    ------
    ReportExtraMissing
        vl-convert-python is not installed.
    """
    check_vega(_PLOT)


def chart(sweep: Sweep, ending: str) -> bytes:
    """Return the chart as the content of a file with this ending, one of `ENDINGS`. HTML needs no
    network, and shows the configuration of each point.

    Raises
    ------
    ReportExtraMissing
        vl-convert-python is not installed.
    VegaFailed
        the process that draws the picture fails.
    """
    function, options = _FUNCTIONS[ending]
    return run_vega(_PLOT, function, vl_spec=specification(sweep), **options)


def specification(sweep: Sweep) -> dict[str, Any]:
    """Return the chart as a specification of Vega-Lite."""
    rows = [row for row in sweep.rows() if row.result.outcome == BUILT]
    has_instructions = all(row.result.instructions is not None for row in rows)
    measures = ["flash_bytes", *(["instructions"] if has_instructions else [])]
    models = ", ".join(_plain(file.name) for file in sweep.inputs)
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": f"Configurations of {models}",
        # Draw the best points last, so that no other point covers them.
        "data": {"values": [_point(row) for row in sorted(rows, key=lambda r: r.verdict.is_best)]},
        "hconcat": [_panel(measure) for measure in measures],
    }


def _point(row: Row) -> dict[str, Any]:
    return {
        "number": row.number,
        "configuration": _plain(row.configuration.label),
        "status": row.status,
        "front": "best" if row.verdict.is_best else "other",
        **{name: getattr(row.result, name) for name in _TITLES},
    }


def _panel(measure: str) -> dict[str, Any]:
    color, shape = (
        {
            "field": "front",
            "type": "nominal",
            "scale": {"domain": list(_COLORS), "range": list(looks)},
            "title": None,
        }
        for looks in (_COLORS.values(), ("circle", "square"))
    )
    place = {"x": _axis(measure), "y": _axis("ram_bytes")}
    tooltip = [{"field": name} for name in ("number", "configuration", "status", *_TITLES)]
    points = {
        "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
        # Shape repeats color, for readers who cannot see colors.
        "encoding": {**place, "color": color, "shape": shape, "tooltip": tooltip},
    }
    numbers = {
        "transform": [{"filter": "datum.front == 'best'"}],
        "mark": {"type": "text", "dy": -11},
        "encoding": {**place, "text": {"field": "number"}},
    }
    return {"width": _SIDE, "height": _SIDE, "layer": [points, numbers]}


def _axis(name: str) -> dict[str, Any]:
    scale = {"zero": False, "padding": 20}
    axis = {"title": _TITLES[name], "tickCount": 5}
    return {"field": name, "type": "quantitative", "axis": axis, "scale": scale}


def _plain(text: str) -> str:
    """Return text without "<", so that it cannot end a script or begin a tag in a page."""
    return shown(text).replace("<", "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}")


def ending_of(path: str) -> str:
    """Return the ending of a file's name, in lower case."""
    return Path(path).suffix.lower()
