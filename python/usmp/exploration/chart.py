"""A sweep as a picture: RAM beside flash and instructions, the Pareto front marked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from usmp.exploration.result import BUILT
from usmp.exploration.sweep import Row, Sweep
from usmp.support.plain_text import shown
from usmp.support.vega_process import check_vega, run_vega

_FUNCTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    ".svg": ("vegalite_to_svg", {}),
    ".png": ("vegalite_to_png", {"scale": 2}),
    ".html": ("vegalite_to_html", {"bundle": True}),
}
ENDINGS = tuple(_FUNCTIONS)
"""Of files that a chart can be written to."""

_PLOT = "a plot"

_SIDE = 320
_COLORS = {"best": "#0b6e4f", "other": "#9aa0a6"}
_TITLES = {
    "ram_bytes": "RAM (bytes)",
    "flash_bytes": "flash (bytes)",
    "instructions": "instructions of a run (estimate)",
}


def check_renderer() -> None:
    """Refuse to draw where nothing can.

    Raises
    ------
    ReportExtraMissing
        vl-convert-python is not installed.
    """
    check_vega(_PLOT)


def chart(sweep: Sweep, ending: str) -> bytes:
    """The picture, as a file with this ending; HTML needs no network, and tells of each point what
    it is.

    Raises
    ------
    ReportExtraMissing
        vl-convert-python is not installed.
    VegaFailed
        the process that draws fails.
    """
    function, options = _FUNCTIONS[ending]
    return run_vega(_PLOT, function, vl_spec=specification(sweep), **options)


def specification(sweep: Sweep) -> dict[str, Any]:
    """What is drawn, in the language of Vega-Lite."""
    rows = [row for row in sweep.rows() if row.result.outcome == BUILT]
    has_instructions = all(row.result.instructions is not None for row in rows)
    measures = ["flash_bytes", *(["instructions"] if has_instructions else [])]
    models = ", ".join(_plain(file.name) for file in sweep.inputs)
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": f"Configurations of {models}",
        # What is drawn last is on top.
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
        # Shape says the same as color.
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
    """Text that ends no script and begins no tag, whoever writes it into a page."""
    return shown(text).replace("<", "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}")


def ending_of(path: str) -> str:
    """The ending of a file's name, in lower case."""
    return Path(path).suffix.lower()
