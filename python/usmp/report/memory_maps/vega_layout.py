"""Sizes of the parts of a pool's drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

LIVE_HEIGHT = 76
"""Height of the chart of live bytes, in pixels."""

_BAND_HEIGHT = 106
_GAP = 14
_AXIS_HEIGHT = 40

Spec = dict[str, Any]
"""A part of a drawing in Vega's language."""


@dataclass(frozen=True)
class Panel:
    """The size of a panel, in pixels.

    Parameters
    ----------
    map_height
        height of the map of addresses.
    has_operators
        whether the panel has a band with the names of operators.
    has_live
        whether the panel has a chart of live bytes.
    """

    map_height: int
    has_operators: bool
    has_live: bool

    @property
    def live_top(self) -> int:
        """The top of the chart of live bytes."""
        return self.map_height + (_BAND_HEIGHT if self.has_operators else _GAP)

    @property
    def plot_height(self) -> int:
        """The height down to the axis of program positions."""
        return self.live_top + LIVE_HEIGHT if self.has_live else self.map_height

    @property
    def height(self) -> int:
        """The height with the axis and the names of operators."""
        if self.has_live:
            return self.plot_height + _AXIS_HEIGHT
        return self.live_top if self.has_operators else self.map_height + _AXIS_HEIGHT
