"""Colors of drawings, light and dark.

Texts have a contrast of at least 4.5 to their background. Blocks have outlines, so that color is
not the only difference between them.
"""

from __future__ import annotations

from typing import Any

from usmp.report.map_data import KINDS

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""Fonts of texts. vl-convert contains the first, so that PNGs are equal on every machine."""

LIGHT: dict[str, Any] = {
    "page": "#ffffff",
    "ink": "#1f2328",
    "faint": "#57606a",
    "grid": "#d8dee4",
    "best": "#1a7f37",
    "peak": "#cf222e",
    "bound": "#0550ae",
    "limit": "#6639ba",
    "hatch": "#1f2328",
    "area": "#9ec5fe",
    "kinds": ["#ffe69c", "#a3cfbb", "#9ec5fe", "#c5b3e6", "#f1aeb5", "#dee2e6"],
    "operators": [
        *("#9ec5fe", "#ffe69c", "#a3cfbb", "#f1aeb5", "#c5b3e6", "#9eeaf9", "#feca99", "#dee2e6"),
    ],
}
DARK: dict[str, Any] = {
    "page": "#0d1117",
    "ink": "#e6edf3",
    "faint": "#9198a1",
    "grid": "#30363d",
    "best": "#3fb950",
    "peak": "#ff7b72",
    "bound": "#79c0ff",
    "limit": "#d2a8ff",
    "hatch": "#e6edf3",
    "area": "#1f4e8c",
    "kinds": ["#7a5c00", "#1d6b4a", "#1f4e8c", "#543b8c", "#8a2f3b", "#495057"],
    "operators": [
        *("#1f4e8c", "#7a5c00", "#1d6b4a", "#8a2f3b", "#543b8c", "#0f6674", "#8a4a12", "#495057"),
    ],
}
THEMES = {"light": LIGHT, "dark": DARK}

assert len(LIGHT["kinds"]) == len(DARK["kinds"]) == len(KINDS)
