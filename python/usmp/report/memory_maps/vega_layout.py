"""Frame, axes and texts of drawings, and the sizes of the parts of a pool's drawing."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, radians, sin
from typing import Any

from usmp.report.memory_maps.themes import FONT

LIVE_HEIGHT = 76
"""Height of the chart of live bytes, in pixels."""

LABEL_SIZE = 10
"""Size of the font of operator names, in pixels."""

LABEL_ANGLE = 55
"""Angle of the names of narrow operators, in degrees."""

CHARACTER = 0.64 * LABEL_SIZE
"""Approximate width of a character of operator names, which are mostly in capitals, in pixels."""

LABEL_MARGIN = 12
"""Least sum of the spaces left and right of a horizontal name, in pixels."""

_GAP = 14
_AXIS_HEIGHT = 40

Spec = dict[str, Any]
"""A part of a drawing in Vega's language."""

AXIS_LOOK: Spec = {
    "labelFont": FONT,
    "titleFont": FONT,
    "labelFontSize": 11,
    "titleFontSize": 11,
    "titleFontWeight": "normal",
    "labelColor": {"signal": "theme.faint"},
    "titleColor": {"signal": "theme.faint"},
    "domainColor": {"signal": "theme.faint"},
    "tickColor": {"signal": "theme.grid"},
    "gridColor": {"signal": "theme.grid"},
}
"""Fonts and colors of an axis; the signal `theme` has the colors."""


@dataclass(frozen=True)
class Panel:
    """The size of a panel, in pixels.

    Parameters
    ----------
    map_height
        height of the map of addresses.
    label_limit
        length of the longest rotated name of an operator, for which the panel has a band; 0 if it
        has no names.
    has_live
        whether the panel has a chart of live bytes.
    """

    map_height: int
    label_limit: int
    has_live: bool

    @property
    def live_top(self) -> int:
        """The top of the chart of live bytes."""
        return self.map_height + _GAP + ceil(self.label_limit * sin(radians(LABEL_ANGLE)))

    @property
    def plot_height(self) -> int:
        """The height down to the axis of program positions."""
        return self.live_top + LIVE_HEIGHT if self.has_live else self.map_height

    @property
    def height(self) -> int:
        """The height with the axis and the names of operators."""
        if self.has_live:
            return self.plot_height + _AXIS_HEIGHT
        return self.live_top if self.label_limit else self.map_height + _AXIS_HEIGHT


def page_spec(height: int, padding: dict[str, int], signals: list[Spec], group: Spec) -> Spec:
    """Return the drawing of a group on a page, whose script sets the width."""
    return {
        "$schema": "https://vega.github.io/schema/vega/v6.json",
        "autosize": "none",
        "width": 800,
        "height": height,
        "padding": padding,
        "signals": signals,
        "marks": [group],
    }


def text_mark(
    text: str, x: float, y: float, color: str, size: int, weight: str, limit: float
) -> Spec:
    """Return a line of text, cut at `limit` pixels."""
    return {
        "type": "text",
        "encode": {
            "enter": {
                "x": {"value": x},
                "y": {"value": y},
                "text": {"value": text},
                "limit": {"value": limit},
                "font": {"value": FONT},
                "fontSize": {"value": size},
                "fontWeight": {"value": weight},
                "fill": {"value": color},
            }
        },
    }
