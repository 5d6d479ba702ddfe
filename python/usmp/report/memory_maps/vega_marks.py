"""The marks of a pool's drawing in Vega's language: blocks, names, lines, operators, live bytes."""

from __future__ import annotations

from math import cos, radians

from usmp.report.map_data import Pool
from usmp.report.memory_maps.themes import FONT
from usmp.report.memory_maps.vega_layout import (
    CHARACTER,
    LABEL_ANGLE,
    LABEL_MARGIN,
    LABEL_SIZE,
    Panel,
    Spec,
)

_LEFT_MARGIN = 60
"""Space for names of operators to the left of the plot, in pixels."""
_IS_WIDE = f"length(datum.label) * {CHARACTER} + {LABEL_MARGIN} <= datum.right - datum.left"
# Matches of a text search take precedence over the picked buffer.
_IS_FAINT = (
    "(state.found ? !state.found[datum.id] : state.picked >= 0 && datum.id !== state.picked"
    " && !(state.related && state.related[datum.id]))"
)
_EMPHASIS = f"({_IS_FAINT} ? 0.2 : 1)"
_FILL = (
    "state.colorBy === 'operator' ? theme.operators[datum.by % length(theme.operators)]"
    " : scale('kind', datum.kind)"
)
_IS_MARKED = "datum.id === state.picked"
# Draw no outlines of narrow or low blocks, because outlines would hide their colors.
_IS_SMALL = (
    "(scale('x', datum.stop) - scale('x', datum.start) < 5"
    " || scale('y', datum.low) - scale('y', datum.high) < 3)"
)
_THIN = f"{_IS_SMALL} ? 0 : 0.6"


def operator_ticks(panel: Panel) -> list[Spec]:
    """Return a line at the start of each operator, and an area for the picked operator."""
    return [
        {
            "type": "rect",
            "interactive": False,
            "encode": {
                "update": {
                    "x": {
                        "signal": "state.operator ? clamp(scale('x', state.operator[0]), 0, width)"
                        " : 0"
                    },
                    "x2": {
                        "signal": "state.operator ? clamp(scale('x', state.operator[1]), 0, width)"
                        " : 0"
                    },
                    "y": {"value": 0},
                    "y2": {"value": panel.plot_height},
                    "fill": {"signal": "theme.bound"},
                    "opacity": {"signal": "state.operator ? 0.16 : 0"},
                }
            },
        },
        {
            "type": "rule",
            "from": {"data": "ticks"},
            "interactive": False,
            "encode": {
                "update": {
                    "x": {"field": "left"},
                    "y": {"value": 0},
                    "y2": {"value": panel.plot_height},
                    "stroke": {"signal": "theme.grid"},
                }
            },
        },
    ]


def clipped(panel: Panel, marks: list[Spec]) -> Spec:
    """Return a group that clips marks to the map of addresses."""
    return {
        "type": "group",
        "encode": {
            "update": {
                "width": {"signal": "width"},
                "height": {"value": panel.map_height},
                "clip": {"value": True},
            },
        },
        "marks": marks,
    }


def _rectangle() -> Spec:
    return {
        "x": {"scale": "x", "field": "start"},
        "x2": {"scale": "x", "field": "stop"},
        "y": {"scale": "y", "field": "high"},
        "y2": {"scale": "y", "field": "low"},
    }


def blocks_marks(pool: Pool) -> list[Spec]:
    """Return the marks of buffers, of their overlaps with dying inputs, and of their names."""
    shows_reads = pool.is_constant and any(buffer.read_by for buffer in pool.buffers)
    return [
        {
            "type": "rect",
            "name": "blocks",
            "from": {"data": "blocks"},
            "encode": {
                "update": {
                    **_rectangle(),
                    "fill": {"signal": _FILL},
                    "fillOpacity": {"value": 0.45 if shows_reads else 1},
                    "opacity": {"signal": _EMPHASIS},
                    "stroke": {"signal": f"{_IS_MARKED} ? theme.peak : theme.ink"},
                    "strokeWidth": {"signal": f"{_IS_MARKED} ? 2.5 : {_THIN}"},
                    "strokeDash": {"signal": "datum.ring ? [4, 2] : []"},
                    "cursor": {"value": "pointer"},
                }
            },
        },
        {
            "type": "rect",
            "from": {"data": "reads"},
            "interactive": False,
            "encode": {
                "update": {
                    **_rectangle(),
                    "fill": {"signal": "theme.hatch"},
                    "opacity": {"signal": f"0.45 * {_EMPHASIS}"},
                }
            },
        },
        {
            "type": "rule",
            "from": {"data": "hatches"},
            "interactive": False,
            "encode": {"update": _hatch_line()},
        },
        {
            "type": "rect",
            "from": {"data": "overlaps"},
            "interactive": False,
            "encode": {
                "update": {
                    **_rectangle(),
                    "stroke": {"signal": "theme.hatch"},
                    "strokeWidth": {"signal": f"{_IS_SMALL} ? 0.3 : 1"},
                    "opacity": {"signal": _EMPHASIS},
                }
            },
        },
        *_names(),
    ]


def _hatch_line() -> Spec:
    """Return a diagonal of a hatched rectangle, `at` pixels from its corner along both sides."""
    return {
        "x": {"signal": "datum.left + min(datum.at, datum.w)"},
        "y": {"signal": "datum.top + max(0, datum.at - datum.w)"},
        "x2": {"signal": "datum.left + max(0, datum.at - datum.h)"},
        "y2": {"signal": "datum.top + min(datum.at, datum.h)"},
        "stroke": {"signal": "theme.hatch"},
        "strokeWidth": {"value": 0.8},
        "opacity": {"signal": f"0.55 * {_EMPHASIS}"},
    }


def _names() -> list[Spec]:
    """Return the names of blocks, outlined so that they are readable on hatching."""
    place = {
        "x": {"signal": "(datum.left + datum.right) / 2"},
        "y": {"signal": "(datum.top + datum.bottom) / 2"},
        "text": {"field": "name"},
        "align": {"value": "center"},
        "baseline": {"value": "middle"},
        "font": {"value": FONT},
        "fontSize": {"value": 11},
        "limit": {"signal": "datum.right - datum.left - 8"},
        "opacity": {"signal": f"{_IS_FAINT} ? 0 : 1"},
    }
    behind: Spec = {
        "stroke": {"signal": _FILL},
        "strokeWidth": {"value": 4},
        "strokeJoin": {"value": "round"},
    }
    marks = [behind, {"fill": {"signal": "theme.ink"}}]
    return [
        {
            "type": "text",
            "from": {"data": "labels"},
            "interactive": False,
            "encode": {"update": {**place, **look}},
        }
        for look in marks
    ]


def entry_marks(panel: Panel) -> list[Spec]:
    """Return a line at the start of each entry, if there are several, and its name at the top."""
    return [
        {
            "type": "rule",
            "from": {"data": "entries"},
            "interactive": False,
            "encode": {
                "update": {
                    "x": {"scale": "x", "field": "start"},
                    "y": {"value": 0},
                    "y2": {"value": panel.map_height},
                    "stroke": {"signal": "theme.faint"},
                    "strokeDash": {"value": [1, 3]},
                }
            },
        },
        {
            "type": "text",
            "from": {"data": "entries"},
            "interactive": False,
            "encode": {
                "update": {
                    "x": {"scale": "x", "field": "start", "offset": 4},
                    "y": {"value": 9},
                    "text": {"field": "label"},
                    "font": {"value": FONT},
                    "fontSize": {"value": 11},
                    "fontStyle": {"value": "italic"},
                    "limit": {
                        "signal": "max(1, scale('x', datum.stop) - scale('x', datum.start) - 8)"
                    },
                    "fill": {"signal": "theme.faint"},
                }
            },
        },
    ]


def lines_marks() -> list[Spec]:
    """Return the lines of peak, lower bound and limit, with a label above each."""
    color = {"signal": "theme[datum.line]"}
    is_visible = "datum.bytes >= ydom[0] && datum.bytes <= ydom[1] ? 1 : 0"
    place = {
        "x": {"signal": "datum.line === 'peak' ? 4 : width - 4"},
        "y": {"scale": "y", "field": "bytes", "offset": -4},
        "align": {"signal": "datum.line === 'peak' ? 'left' : 'right'"},
        "text": {"field": "label"},
        "font": {"value": FONT},
        "fontSize": {"value": 12},
        "fontWeight": {"value": "bold"},
        "opacity": {"signal": is_visible},
    }
    behind = {"stroke": {"signal": "theme.page"}, "strokeWidth": {"value": 4}}
    return [
        {
            "type": "rule",
            "from": {"data": "lines"},
            "interactive": False,
            "encode": {
                "update": {
                    "x": {"value": 0},
                    "x2": {"signal": "width"},
                    "y": {"scale": "y", "field": "bytes"},
                    "stroke": color,
                    "strokeWidth": {"value": 1.5},
                    "strokeDash": {"signal": "datum.line === 'bound' ? [2, 3] : [7, 4]"},
                    "opacity": {"signal": is_visible},
                }
            },
        },
        *(
            {
                "type": "text",
                "from": {"data": "lines"},
                "interactive": False,
                "encode": {"update": {**place, **look}},
            }
            for look in (behind, {"fill": color})
        ),
    ]


def operator_labels(panel: Panel) -> list[Spec]:
    """Return the names of operators below the map: horizontal below wide operators, else rotated.

    A rotated name ends below the middle of its operator. It is cut at the left edge of the drawing.
    """
    to_the_edge = f"(datum.middle + {_LEFT_MARGIN}) / {cos(radians(LABEL_ANGLE)):.4f}"
    limit = f"min({panel.label_limit}, {to_the_edge})"
    return [
        {
            "type": "text",
            "from": {"data": "named"},
            "interactive": False,
            "encode": {
                "update": {
                    "x": {"field": "middle"},
                    "y": {"value": panel.map_height + 6},
                    "angle": {"signal": f"{_IS_WIDE} ? 0 : -{LABEL_ANGLE}"},
                    "align": {"signal": f"{_IS_WIDE} ? 'center' : 'right'"},
                    "baseline": {"signal": f"{_IS_WIDE} ? 'top' : 'middle'"},
                    "text": {"field": "label"},
                    "font": {"value": FONT},
                    "fontSize": {"value": LABEL_SIZE},
                    "limit": {"signal": f"{_IS_WIDE} ? width : {limit}"},
                    "fill": {"signal": "theme.faint"},
                }
            },
        }
    ]


def live_marks(panel: Panel) -> Spec:
    """Return the chart of live bytes as steps, clipped to the panel."""
    return {
        "type": "group",
        "encode": {
            "update": {
                "width": {"signal": "width"},
                "height": {"value": panel.plot_height},
                "clip": {"value": True},
            },
        },
        "marks": [
            {
                "type": "area",
                "from": {"data": "live"},
                "interactive": False,
                "encode": {
                    "update": {
                        "x": {"scale": "x", "field": "position"},
                        "y": {"scale": "live", "field": "live"},
                        "y2": {"scale": "live", "value": 0},
                        "interpolate": {"value": "step-after"},
                        "fill": {"signal": "theme.area"},
                        "stroke": {"signal": "theme.ink"},
                        "strokeWidth": {"value": 0.6},
                    }
                },
            }
        ],
    }
