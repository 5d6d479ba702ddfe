"""The drawing of one pool in Vega's language: addresses over time, and the live bytes below.

A panel is a group mark. It reads signals of its parent: `theme`, a dict of colors; `xdom` and
`ydom`, the visible intervals; `state`, the emphasized items. Texts of models are data, and never
part of an expression.

Source: the reference of Vega 6, https://vega.github.io/vega/docs/.
"""

from __future__ import annotations

from math import ceil
from typing import Any

from usmp.report.map_data import KINDS, MemoryMap, Pool
from usmp.report.memory_maps import drawing
from usmp.report.memory_maps.themes import LIGHT
from usmp.report.memory_maps.vega_layout import (
    AXIS_LOOK,
    CHARACTER,
    LABEL_MARGIN,
    LIVE_HEIGHT,
    Panel,
    Spec,
)
from usmp.report.memory_maps.vega_marks import (
    blocks_marks,
    clipped,
    entry_marks,
    lines_marks,
    live_marks,
    operator_labels,
    operator_ticks,
)

_HATCH_STEP = 6

_PLOT_WIDTH = 784
"""Width of the plot in a picture, in pixels, for which the band of names is made."""

_NARROWEST_NAMED = 8
"""Least width of an operator in that plot that a plot on a wide screen names, in pixels."""

_SHORTEST_LABEL, _LONGEST_LABEL = 16, 230
"""Limits of the space for rotated names, along their lines, in pixels."""

ALL_ALIKE: Spec = {"picked": -1, "related": None, "found": None, "operator": None}
"""Value of the signal `state` without emphasis."""


def panel_of(drawn: MemoryMap, pool: Pool, map_height: int) -> Panel:
    """Return the size of the panel of a pool."""
    return Panel(map_height, _label_limit(drawn), has_live=not pool.is_constant)


def _label_limit(drawn: MemoryMap) -> int:
    """Return the length of the longest rotated name in a plot of `_PLOT_WIDTH`, in pixels."""
    marks = drawing.operator_marks(drawn)
    if not marks:
        return 0
    rotated = [_SHORTEST_LABEL]
    for mark in marks:
        length = ceil(len(mark["label"]) * CHARACTER)
        width = (mark["stop"] - mark["start"]) * _PLOT_WIDTH / max(1, drawn.positions)
        if _NARROWEST_NAMED <= width < length + LABEL_MARGIN:
            rotated.append(length)
    return min(max(rotated), _LONGEST_LABEL)


def panel_group(drawn: MemoryMap, pool: Pool, panel: Panel) -> Spec:
    """Return the group mark of a pool, whose width is the signal `width`."""
    return {
        "type": "group",
        "encode": {
            "update": {
                "width": {"signal": "width"},
                "height": {"value": panel.plot_height},
            }
        },
        "data": _data(drawn, pool, panel),
        "scales": _scales(panel, drawing.most_live(pool, drawn.positions)),
        "axes": _axes(panel),
        "marks": [
            *operator_ticks(panel),
            clipped(panel, blocks_marks(pool)),
            clipped(panel, entry_marks(panel)),
            *lines_marks(),
            *(operator_labels(panel) if panel.label_limit else []),
            *([live_marks(panel)] if panel.has_live else []),
        ],
    }


def _data(drawn: MemoryMap, pool: Pool, panel: Panel) -> list[Spec]:
    return [
        {"name": "blocks", "values": drawing.blocks(pool)},
        {"name": "reads", "values": drawing.reads(pool, drawn) if pool.is_constant else []},
        {"name": "overlaps", "values": drawing.overlaps(pool)},
        {"name": "lines", "values": drawing.lines(pool)},
        {"name": "operators", "values": drawing.operator_marks(drawn)},
        {"name": "entries", "values": drawing.entry_marks(drawn)},
        {"name": "live", "values": drawing.live_bytes(pool, drawn.positions)},
        {
            "name": "labels",
            "source": "blocks",
            "transform": [
                *_places("datum.named", panel),
                _filter("datum.right - datum.left > 34 && datum.bottom - datum.top >= 11"),
            ],
        },
        {
            "name": "hatches",
            "source": "overlaps",
            "transform": [
                *_places("datum", panel),
                {"type": "formula", "as": "w", "expr": "datum.right - datum.left"},
                {"type": "formula", "as": "h", "expr": "datum.bottom - datum.top"},
                _filter("datum.w > 4 && datum.h > 4"),
                {
                    "type": "formula",
                    "as": "at",
                    "expr": f"sequence({_HATCH_STEP}, datum.w + datum.h, {_HATCH_STEP})",
                },
                {"type": "flatten", "fields": ["at"]},
            ],
        },
        {
            "name": "ticks",
            "source": "operators",
            "transform": [
                {"type": "formula", "as": "left", "expr": "scale('x', datum.start)"},
                {"type": "formula", "as": "right", "expr": "scale('x', datum.stop)"},
                _filter("datum.right - datum.left >= 4 && datum.left >= 0 && datum.left <= width"),
            ],
        },
        {
            "name": "named",
            "source": "operators",
            "transform": [
                {"type": "formula", "as": "left", "expr": "scale('x', datum.start)"},
                {"type": "formula", "as": "right", "expr": "scale('x', datum.stop)"},
                {"type": "formula", "as": "middle", "expr": "(datum.left + datum.right) / 2"},
                _filter(
                    "datum.right - datum.left >= 12 && datum.middle >= 0 && datum.middle <= width"
                ),
            ],
        },
    ]


def _places(area: str, panel: Panel) -> list[Spec]:
    """Return formulas of the visible part of an area, a rectangle of positions and bytes."""
    pixels = {
        "left": f"clamp(scale('x', {area}.start), 0, width)",
        "right": f"clamp(scale('x', {area}.stop), 0, width)",
        "top": f"clamp(scale('y', {area}.high), 0, {panel.map_height})",
        "bottom": f"clamp(scale('y', {area}.low), 0, {panel.map_height})",
    }
    return [{"type": "formula", "as": name, "expr": text} for name, text in pixels.items()]


def _filter(expression: str) -> Spec:
    return {"type": "filter", "expr": expression}


def _scales(panel: Panel, most_live: int) -> list[Spec]:
    def linear(name: str, domain: Any, range_: list[Any]) -> Spec:
        settings = {"zero": False, "nice": False}
        return {"name": name, "type": "linear", "domain": domain, "range": range_, **settings}

    live_range = [panel.live_top + LIVE_HEIGHT, panel.live_top]
    return [
        linear("x", {"signal": "xdom"}, [0, {"signal": "width"}]),
        linear("y", {"signal": "ydom"}, [panel.map_height, 0]),
        linear("live", [0, most_live * 1.05], live_range),
        {
            "name": "kind",
            "type": "ordinal",
            "domain": list(KINDS),
            "range": {"signal": "theme.kinds"},
        },
    ]


def _axes(panel: Panel) -> list[Spec]:
    number = {"format": ",d", "formatType": "number"}
    axes = [
        {
            "orient": "left",
            "scale": "y",
            "title": "address (bytes)",
            "grid": True,
            "tickCount": 5,
            "tickMinStep": 1,
            "zindex": 0,
            # Center the title on the map, because the panel is taller than the map.
            "titleY": panel.map_height / 2,
            "titleAnchor": "start",
            "titleAlign": "center",
            **number,
            **AXIS_LOOK,
        }
    ]
    if panel.has_live:
        axes.append(
            {
                "orient": "left",
                "scale": "live",
                "title": "live bytes",
                "grid": True,
                "tickCount": 2,
                "tickMinStep": 1,
                "titleY": panel.live_top + LIVE_HEIGHT / 2,
                "titleAnchor": "start",
                "titleAlign": "center",
                **number,
                **AXIS_LOOK,
            }
        )
    if panel.has_live or not panel.label_limit:
        axes.append(
            {
                "orient": "bottom",
                "scale": "x",
                "title": "program position",
                "tickCount": {"signal": "max(2, floor(width / 110))"},
                "tickMinStep": 1,
                **number,
                **AXIS_LOOK,
            }
        )
    return axes


def panel_signals(drawn: MemoryMap, pool: Pool) -> list[Spec]:
    """Return the signals that a panel reads, with their initial values."""
    return [
        {"name": "theme", "value": LIGHT},
        {"name": "xdom", "value": [0, max(1, drawn.positions)]},
        {"name": "ydom", "value": [0, drawing.top_address(pool, bool(drawing.entry_marks(drawn)))]},
        {"name": "state", "value": {**ALL_ALIKE, "colorBy": "kind"}},
    ]
