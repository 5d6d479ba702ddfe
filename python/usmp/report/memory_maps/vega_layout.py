"""How large the parts of a pool's drawing are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

LIVE_HEIGHT = 76
"""Of the drawing of live bytes, in pixels."""

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
        of the addresses.
    has_operators
        whether there is a band with the names of the operators.
    has_live
        whether the live bytes are drawn.
    """

    map_height: int
    has_operators: bool
    has_live: bool

    @property
    def live_top(self) -> int:
        """Where the live bytes begin."""
        return self.map_height + (_BAND_HEIGHT if self.has_operators else _GAP)

    @property
    def plot_height(self) -> int:
        """Down to the axis of the positions."""
        return self.live_top + LIVE_HEIGHT if self.has_live else self.map_height

    @property
    def height(self) -> int:
        """With everything below."""
        if self.has_live:
            return self.plot_height + _AXIS_HEIGHT
        return self.live_top if self.has_operators else self.map_height + _AXIS_HEIGHT
