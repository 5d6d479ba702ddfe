"""The drawing of RAM over another cost in Vega's language: a point for each configuration.

A panel is a group mark. It reads signals of its parent: `theme`, a dict of colors; `xdom` and
`ydom`, the visible intervals; `picked`, the number of the emphasized configuration.

Source: the reference of Vega 6, https://vega.github.io/vega/docs/.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from usmp.exploration.pareto import compared_costs
from usmp.exploration.result import BUILT
from usmp.exploration.sweep import Row, Sweep
from usmp.report.memory_maps.themes import FONT, LIGHT
from usmp.report.memory_maps.vega_layout import AXIS_LOOK, Spec

HEIGHT = 300
"""Height of the plot, in pixels."""

AXIS_HEIGHT = 44

BEST, OTHER = "best", "other"
"""Texts of the legend."""

_MARGIN = 0.08
"""Space beside the outermost points, as a part of their distance."""

_LEAST_OF_UNIT = 10
"""The smallest cost that is drawn in a unit, in this unit."""

_NAMES = {"ram_bytes": "RAM", "flash_bytes": "flash", "instructions": "instructions"}
_UNITS = {
    "ram_bytes": ((1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes")),
    "flash_bytes": ((1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes")),
    "instructions": (
        (10**6, "millions a run, estimate"),
        (10**3, "thousands a run, estimate"),
        (1, "a run, estimate"),
    ),
}


@dataclass(frozen=True)
class Axis:
    """An axis of costs.

    Parameters
    ----------
    cost
        name of the cost in `Result`.
    title
        title with the unit.
    unit
        how many bytes or instructions the unit has.
    low, high
        ends of the axis, in units.
    """

    cost: str
    title: str
    unit: int
    low: float
    high: float


@dataclass(frozen=True)
class Panel:
    """A drawing of configurations.

    Parameters
    ----------
    title
        title as text.
    x, y
        the axes.
    rows
        the built configurations.
    """

    title: str
    x: Axis
    y: Axis
    rows: Sequence[Row]


def panels(sweep: Sweep) -> list[Panel]:
    """Return RAM over flash and over instructions, as far as these are known for all builds."""
    rows = [row for row in sweep.rows() if row.result.outcome == BUILT]
    if not rows:
        return []
    ram, *others = compared_costs([row.result for row in rows])
    return [
        Panel(f"RAM and {_NAMES[cost]}", _axis(cost, rows), _axis(ram, rows), rows)
        for cost in others
    ]


def _axis(cost: str, rows: Sequence[Row]) -> Axis:
    costs = [getattr(row.result, cost) for row in rows]
    low, high = min(costs), max(costs)
    unit, words = next((u for u in _UNITS[cost] if high >= _LEAST_OF_UNIT * u[0]), _UNITS[cost][-1])
    margin = max((high - low) * _MARGIN, unit if low == high else 0)
    title = f"{_NAMES[cost]} ({words})"
    return Axis(cost, title, unit, max(0, low - margin) / unit, (high + margin) / unit)


def panel_signals(panel: Panel) -> list[Spec]:
    """Return the signals that a panel reads, with their initial values."""
    return [
        {"name": "theme", "value": LIGHT},
        {"name": "xdom", "value": [panel.x.low, panel.x.high]},
        {"name": "ydom", "value": [panel.y.low, panel.y.high]},
        {"name": "picked", "value": None},
    ]


def panel_group(panel: Panel, in_browser: bool = False) -> Spec:
    """Return the group mark of a panel, whose width is the signal `width`.

    Numbers cover no points in a browser, where Vega has the canvas that finds free places.
    """
    has_others = not all(row.verdict.is_best for row in panel.rows)
    return {
        "type": "group",
        "encode": {"update": {"width": {"signal": "width"}, "height": {"value": HEIGHT}}},
        # Grids and titles of axes are as long as these signals of their group say.
        "signals": [{"name": "height", "value": HEIGHT}],
        "data": [
            {"name": "points", "values": [_point(panel, row) for row in panel.rows]},
            _filtered("others", "!datum.best"),
            _filtered("front", "datum.best"),
            _filtered("picked", "datum.number === picked"),
        ],
        "scales": [
            _scale("x", "xdom", [0, {"signal": "width"}]),
            _scale("y", "ydom", [HEIGHT, 0]),
        ],
        "axes": [
            _axis_spec("bottom", "x", panel.x, {"signal": "max(2, floor(width / 70))"}),
            _axis_spec("left", "y", panel.y, 6),
        ],
        "marks": [
            {
                "type": "group",
                "clip": True,
                "encode": {"update": {"width": {"signal": "width"}, "height": {"value": HEIGHT}}},
                # Draw the best points last, so that no other point covers them.
                "marks": [
                    _points("others", "square", 50, "theme.page", "theme.faint"),
                    _points("front", "circle", 110, "theme.best", "theme.page"),
                    _points("picked", "circle", 300, None, "theme.ink"),
                    _numbers(in_browser, has_others),
                ],
            }
        ],
    }


def _point(panel: Panel, row: Row) -> Spec:
    x, y = (getattr(row.result, axis.cost) / axis.unit for axis in (panel.x, panel.y))
    return {"number": row.number, "best": row.verdict.is_best, "x": x, "y": y}


def _filtered(name: str, test: str) -> Spec:
    return {"name": name, "source": "points", "transform": [{"type": "filter", "expr": test}]}


def _scale(name: str, domain: str, ends: list[int | Spec]) -> Spec:
    settings = {"zero": False, "nice": False}
    return {
        "name": name,
        "type": "linear",
        "domain": {"signal": domain},
        "range": ends,
        **settings,
    }


def _axis_spec(orient: str, scale: str, axis: Axis, ticks: int | Spec) -> Spec:
    """Return an axis with ticks at round numbers, of which none is hidden by another."""
    whole = {"tickMinStep": 1} if axis.unit == 1 else {}
    return {
        "orient": orient,
        "scale": scale,
        "title": axis.title,
        "titlePadding": 8,
        "grid": True,
        "tickCount": ticks,
        "labelOverlap": True,
        **whole,
        **AXIS_LOOK,
    }


def _points(data: str, shape: str, size: int, fill: str | None, stroke: str) -> Spec:
    """Return a mark for each row of the data, named like the data."""
    return {
        "type": "symbol",
        "name": f"{data}_marks",
        "from": {"data": data},
        "interactive": data != "picked",
        "encode": {
            "update": {
                "x": {"scale": "x", "field": "x"},
                "y": {"scale": "y", "field": "y"},
                # Shape repeats color, for readers who cannot see colors.
                "shape": {"value": shape},
                "size": {"value": size},
                "fill": {"value": "transparent"} if fill is None else {"signal": fill},
                "stroke": {"signal": stroke},
                "strokeWidth": {"value": 1.5},
            }
        },
    }


def _numbers(in_browser: bool, has_others: bool) -> Spec:
    """Return the numbers of the best configurations, without those that would cover others."""
    return {
        "type": "text",
        "from": {"data": "front_marks"},
        "interactive": False,
        "encode": {
            "update": {
                "text": {"field": "datum.number"},
                "font": {"value": FONT},
                "fontSize": {"value": 12},
                "fill": {"signal": "theme.ink"},
            }
        },
        "transform": [
            {
                "type": "label",
                # Vega places labels anew only when a parameter changes, so name what moves points.
                "size": {"signal": f"xdom && ydom ? [width, {HEIGHT}] : null"},
                "anchor": ["right", "top", "bottom", "left", "top-right", "bottom-right"],
                "offset": [3],
                "avoidBaseMark": in_browser,
                # Vega fails on a mark without items.
                "avoidMarks": ["others_marks"] if in_browser and has_others else [],
            }
        ],
    }
