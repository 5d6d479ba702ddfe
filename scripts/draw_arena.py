"""Draw the workspace of the digits model over time, planned in three ways, for the README.

Write docs/images/arena-light.svg and docs/images/arena-dark.svg: the plans of `usmp.build` without
the passes `OverlapInputsAndOutputs` and `StreamOperators`, with the first, and with both. Inputs
and outputs are in the workspace.

    python scripts/draw_arena.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import combinations
from pathlib import Path

import tvm

import usmp

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs/images"
POOL = "global_workspace"

WIDTH, HEIGHT = 960, 340
TOP, BOTTOM = 48, 290
PANEL_WIDTH = 250
LEFT = (50, 370, 690)
PANELS = (
    ("Tensors share memory", ["OverlapInputsAndOutputs", "StreamOperators"]),
    ("Outputs over inputs", ["StreamOperators"]),
    ("Row by row", []),
)
"""Title and pass options of each panel."""


@dataclass(frozen=True)
class Theme:
    """Colors of a drawing.

    Parameters
    ----------
    ink
        color of texts and lines.
    page
        color of the page, with which shared bytes are hatched.
    faint
        color of the axes.
    peak
        color of the line at the peak.
    buffers
        colors of the buffers, in the order of their first writes.
    """

    ink: str
    page: str
    faint: str
    peak: str
    buffers: tuple[str, ...]


THEMES = {
    "light": Theme(
        "#1f2328",
        "#ffffff",
        "#8c959f",
        "#cf222e",
        ("#9ec5fe", "#a3cfbb", "#ffe69c", "#f1aeb5", "#c5b3e6", "#9eeaf9", "#feca99", "#dee2e6"),
    ),
    "dark": Theme(
        "#e6edf3",
        "#0d1117",
        "#7d8590",
        "#ff7b72",
        ("#1f4e8c", "#1d6b4a", "#7a5c00", "#8a2f3b", "#543b8c", "#0f6674", "#8a4a12", "#495057"),
    ),
}


@dataclass(frozen=True)
class Rectangle:
    """A buffer in the arena: a range of steps and a range of bytes."""

    name: str
    color: int
    first_step: int
    last_step: int
    offset: int
    end: int


@dataclass(frozen=True)
class Arena:
    """A plan of the workspace: its buffers, its steps and its peak in bytes."""

    rectangles: tuple[Rectangle, ...]
    steps: int
    peak: int


def plan_of_digits(disabled_pass: Sequence[str]) -> Arena:
    """Plan the workspace of the digits model without some passes.

    A step ends wherever a live range begins or ends.
    """
    config = {"tir.usmp.use_workspace_io": True}
    with tvm.transform.PassContext(config=config, disabled_pass=list(disabled_pass)):
        plan = usmp.build(ROOT / "examples/digits/digits_int8.tflite").memory_plan
    buffers = sorted(
        (buffer for buffer in plan.buffers if buffer.pool_name == POOL),
        key=lambda buffer: (buffer.live_ranges[0].start, buffer.live_ranges[0].stop),
    )
    ends = {end for b in buffers for live in b.live_ranges for end in (live.start, live.stop)}
    step = {position: index for index, position in enumerate(sorted(ends))}
    rectangles = tuple(
        Rectangle(
            str(buffer.name),
            color,
            step[live.start],
            step[live.stop],
            buffer.byte_offset,
            buffer.byte_offset + buffer.size_bytes,
        )
        for color, buffer in enumerate(buffers)
        for live in buffer.live_ranges
    )
    return Arena(rectangles, len(ends) - 1, max(r.end for r in rectangles))


def shared_parts(arena: Arena) -> list[Rectangle]:
    """Return the bytes that two live buffers share, because one overwrites the other."""
    return [part for a, b in combinations(arena.rectangles, 2) if (part := common_part(a, b))]


def common_part(a: Rectangle, b: Rectangle) -> Rectangle | None:
    """Return the bytes and steps that two rectangles share, or None."""
    first, last = max(a.first_step, b.first_step), min(a.last_step, b.last_step)
    offset, end = max(a.offset, b.offset), min(a.end, b.end)
    if first < last and offset < end:
        return Rectangle(f"{a.name}, {b.name}", 0, first, last, offset, end)
    return None


def unshared_part(r: Rectangle, shared: Sequence[Rectangle]) -> Rectangle:
    """Return the largest part of a buffer that no other buffer shares; without one, the buffer."""
    others = [part for s in shared if (part := common_part(r, s))]
    steps = sorted({step for s in (r, *others) for step in (s.first_step, s.last_step)})
    ends = sorted({end for s in (r, *others) for end in (s.offset, s.end)})
    parts = (
        replace(r, first_step=first, last_step=last, offset=offset, end=end)
        for first, last in combinations(steps, 2)
        for offset, end in combinations(ends, 2)
    )
    free = [part for part in parts if not any(common_part(part, s) for s in others)]
    return max(free, key=lambda p: (p.last_step - p.first_step) * (p.end - p.offset), default=r)


def panel(arena: Arena, left: int, title: str, scale: float, theme: Theme) -> list[str]:
    """Draw one plan; `scale` is the height of a byte in pixels."""
    width, shared = PANEL_WIDTH / arena.steps, shared_parts(arena)

    def box(r: Rectangle, attributes: str) -> str:
        x, w = left + r.first_step * width, (r.last_step - r.first_step) * width
        y, h = BOTTOM - r.end * scale, (r.end - r.offset) * scale
        return f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" {attributes}/>'

    def label(r: Rectangle) -> str:
        part = unshared_part(r, shared)
        x = left + (part.first_step + part.last_step) / 2 * width
        y = BOTTOM - (part.offset + part.end) / 2 * scale + 4
        return f'<text class="bytes" x="{x:.1f}" y="{y:.1f}">{r.end - r.offset}</text>'

    lines = [f'<text class="title" x="{left}" y="26">{escape(title)}</text>']
    for r in arena.rectangles:
        color = theme.buffers[r.color % len(theme.buffers)]
        lines.append(box(r, f'fill="{color}" stroke="{theme.ink}" stroke-width="0.8"'))
    lines += [box(part, 'fill="url(#overlap)"') for part in shared]
    lines += [label(r) for r in arena.rectangles if (r.end - r.offset) * scale > 20]
    right = left + PANEL_WIDTH
    lines.append(f'<path class="axis" d="M{left},{TOP} V{BOTTOM} H{right}"/>')
    y = BOTTOM - arena.peak * scale
    lines.append(f'<path class="peak" d="M{left},{y:.1f} H{right}"/>')
    lines.append(
        f'<text class="peak-label" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">'
        f"{arena.peak}</text>"
    )
    lines.append(f'<text class="faint" x="{left - 6}" y="{BOTTOM + 4}" text-anchor="end">0</text>')
    lines.append(f'<text class="faint" x="{right}" y="{BOTTOM + 18}" text-anchor="end">time</text>')
    return lines


def draw(arenas: Sequence[Arena], theme: Theme) -> str:
    """Draw the plans side by side, to the same scale, as an SVG."""
    most = max(arena.peak for arena in arenas)
    scale = (BOTTOM - TOP) / most
    panels = []
    for arena, left, (title, _) in zip(arenas, LEFT, PANELS, strict=True):
        saved = 100 * (most - arena.peak) / most
        title += f": {saved:.0f} % less" if saved else ""
        panels += panel(arena, left, title, scale, theme)
    key_y = HEIGHT - 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"',
        '     font-family="Helvetica, Arial, sans-serif" font-size="12">',
        "<title>Workspace of the digits model, planned in three ways</title>",
        "<style>",
        f"  text {{ fill: {theme.ink}; }}",
        f"  .bytes {{ text-anchor: middle; paint-order: stroke; stroke: {theme.page};"
        " stroke-width: 3px; stroke-opacity: 0.8; }",
        "  .title { font-size: 15px; font-weight: bold; }",
        f"  .faint {{ fill: {theme.faint}; }}",
        f"  .axis {{ fill: none; stroke: {theme.faint}; stroke-width: 1; }}",
        f"  .peak {{ stroke: {theme.peak}; stroke-width: 1.5; stroke-dasharray: 6 4; }}",
        f"  .peak-label {{ fill: {theme.peak}; font-weight: bold; }}",
        "</style>",
        '<defs><pattern id="overlap" width="6" height="6" patternUnits="userSpaceOnUse"',
        '  patternTransform="rotate(45)">',
        f'  <rect width="3" height="6" fill="{theme.page}" fill-opacity="0.75"/>',
        "</pattern></defs>",
        *panels,
        f'<rect x="{LEFT[0]}" y="{key_y - 10}" width="22" height="12" fill="{theme.buffers[0]}"/>',
        f'<text x="{LEFT[0] + 28}" y="{key_y}">a tensor, with its bytes</text>',
        f'<rect x="{LEFT[1]}" y="{key_y - 10}" width="22" height="12" fill="{theme.buffers[0]}"/>',
        f'<rect x="{LEFT[1]}" y="{key_y - 10}" width="22" height="12" fill="url(#overlap)"/>',
        f'<text x="{LEFT[1] + 28}" y="{key_y}">an output overwrites what has been read '
        "of an input</text>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def drawings() -> dict[str, str]:
    """Return the text of each file, by its name."""
    arenas = [plan_of_digits(options) for _, options in PANELS]
    return {f"arena-{name}.svg": draw(arenas, theme) for name, theme in THEMES.items()}


def main() -> None:
    """Write both files."""
    IMAGES.mkdir(exist_ok=True)
    for name, text in drawings().items():
        (IMAGES / name).write_text(text)


if __name__ == "__main__":
    main()
