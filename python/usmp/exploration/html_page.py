"""A sweep as a single HTML file that opens offline, with interactive charts and tables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from usmp.exploration.panel import (
    AXIS_HEIGHT,
    BEST,
    HEIGHT,
    OTHER,
    Panel,
    panel_group,
    panel_signals,
    panels,
)
from usmp.exploration.result import BUILT, Result
from usmp.exploration.sweep import Row, Sweep, best_first
from usmp.exploration.tables import COSTS, figures, notes, shell_lines, varied_columns
from usmp.exploration.titles import headline, title
from usmp.names import SMALL
from usmp.report.memory_maps.themes import THEMES
from usmp.report.memory_maps.vega_layout import Spec, page_spec
from usmp.report.offline_pages.offline_page import drawing_html, offline_page, script_json
from usmp.report.offline_pages.table import NAMES, NUMBERS, WORDS, name_html, table_html
from usmp.support.text.plain_text import printable, shown

_PADDING = {"left": 68, "right": 14, "top": 8, "bottom": 0}
_COMMAND_WIDTH = 46
"""Most characters of a line of a command, unless a word is longer: narrow, for phones."""


def sweep_page(sweep: Sweep) -> str:
    """Return the HTML of the page.

    Raises
    ------
    ReportExtraMissing
        the package with Vega is not installed.
    VegaFailed
        the process that prints Vega's JavaScript failed.
    """
    rows = best_first(sweep.rows())
    drawn = panels(sweep)
    data = {
        "charts": [_chart(panel) for panel in drawn],
        "configurations": {
            row.number: {"facts": _facts(row), "command": _command(row)}
            for row in rows
            if row.result.outcome == BUILT
        },
        "themes": THEMES,
    }
    return offline_page(
        title(sweep),
        "usmp.exploration",
        "page",
        heading=name_html(title(sweep)),
        headline=escape(headline(sweep)),
        legend="".join(
            f'<li><span class="point {kind}"></span>{kind}</li>' for kind in (BEST, OTHER)
        ),
        maps="\n".join(map(_drawing, drawn)),
        hint="Click a point of a chart or a row of the table, or focus a chart and press the arrow "
        "keys.",
        touch_hint="Tap a point of a chart, or a row of the table, for its details.",
        show="Show the charts",
        data=script_json(data),
        configurations=_configurations(sweep, rows),
        commands="".join(
            f"<div><h3>{row.number}</h3><pre>{escape(_command(row))}</pre></div>"
            for row in rows
            if row.verdict.is_best
        ),
        notes="".join(f"<li>{escape(printable(note))}</li>" for note in notes(sweep, rows)),
    )


def _chart(panel: Panel) -> Spec:
    height = HEIGHT + AXIS_HEIGHT
    spec = page_spec(height, _PADDING, panel_signals(panel), panel_group(panel, in_browser=True))
    return {"spec": spec, "height": HEIGHT}


def _drawing(panel: Panel) -> str:
    label = (
        f"{panel.title} of {len(panel.rows)} configurations. Arrow keys left and right step "
        f"through them by {panel.x.title}, up and down by {panel.y.title}; plus, minus and 0 zoom, "
        "shift and arrows move, Escape ends the choice."
    )
    return drawing_html(escape(panel.title), "Less is better in both.", panel.title, label)


def _facts(row: Row) -> list[tuple[str, str]]:
    """Return the facts of a built configuration, as pairs of a term and a text."""
    ram, flash, _ = figures(row)
    result, options = row.result, row.configuration.options
    about = "at least" if result.shared_code == SMALL else "about"
    count = result.instructions
    name = [("Set", shown(row.configuration.name))] if row.configuration.name is not None else []
    return [
        ("Configuration", str(row.number)),
        ("Result", row.status),
        ("RAM", f"{ram} bytes: {_parts(result, 'workspace_bytes', 'io_bytes')}"),
        ("Flash", f"{flash} bytes: {_parts(result, 'constant_bytes', 'code_bytes')}"),
        *([("Instructions", f"{about} {count}")] if count is not None else []),
        *name,
        *((shown(option), shown(value)) for option, value in options),
        ("Plan", f"{shown(result.algorithm)}{', proved optimal' if result.is_optimal else ''}"),
    ]


_PARTS = {
    "workspace_bytes": "workspace",
    "io_bytes": "inputs and outputs outside of it",
    "constant_bytes": "constants",
    "code_bytes": "code",
}


def _parts(result: Result, *names: str) -> str:
    values = ((getattr(result, name), _PARTS[name]) for name in names)
    return ", ".join(f"{words} {value}" for value, words in values if value is not None)


def _configurations(sweep: Sweep, rows: Sequence[Row]) -> str:
    """Return the tables of built configurations and of others."""
    built = [row for row in rows if row.result.outcome == BUILT]
    others = [row for row in rows if row.result.outcome != BUILT]
    columns, same = varied_columns(sweep, built)
    headings = [
        ("#", NUMBERS),
        *((shown(heading), NUMBERS if heading in COSTS else NAMES) for heading in columns),
        ("result", WORDS),
    ]
    cells = [
        (
            f' data-id="{row.number}"',
            [
                row.number,
                *(_cell(heading, column[place]) for heading, column in columns.items()),
                f'<span class="point {BEST if row.verdict.is_best else OTHER}"></span>{row.status}',
            ],
        )
        for place, row in enumerate(built)
    ]
    caption = f"{len(built)} configurations that were built, the best first; RAM and flash in bytes"
    parts = [f"<p>{escape(printable(same))}</p>"] if same else []
    if built:
        parts.append(table_html("configuration-table", caption, headings, cells, name_column=0))
    if others:
        parts.append(_others_table(others))
    return "\n".join(parts)


def _cell(heading: str, text: str) -> str:
    """Return the HTML of a cell, with the name of an option for narrow screens."""
    is_option = text and heading not in COSTS
    name = f'<span class="option">{name_html(heading)}=</span>' if is_option else ""
    return f"{name}{name_html(text)}"


def _others_table(rows: Sequence[Row]) -> str:
    headings = [("#", NUMBERS), ("configuration", WORDS), ("outcome", WORDS), ("reason", WORDS)]
    cells = [
        (
            "",
            [
                row.number,
                name_html(row.configuration.label),
                row.status,
                f"<bdi>{escape(printable(row.result.reason or ''))}</bdi>",
            ],
        )
        for row in rows
    ]
    caption = f"{len(rows)} configurations that were not built"
    return table_html("other-table", caption, headings, cells, name_column=0)


def _command(row: Row) -> str:
    lines = shell_lines(row.configuration.command, _COMMAND_WIDTH)
    return "\n".join(map(printable, lines))
