"""A sweep for people and spreadsheets: table, CSV, Markdown."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from usmp.exploration.pareto import compared_costs
from usmp.exploration.result import BUILT, ESTIMATED, UNKNOWN
from usmp.exploration.sweep import Row, Sweep, best_first, option_names
from usmp.report.text_tables import markdown_text
from usmp.support.plain_text import printable, shown

if TYPE_CHECKING:
    from rich.console import Console

FIGURES = (
    "ram_bytes",
    "flash_bytes",
    "instructions",
    "workspace_bytes",
    "io_bytes",
    "state_bytes",
    "constant_bytes",
    "code_bytes",
    "code",
    "compiler",
    "operators",
    "estimated_operators",
    "macs",
    "algorithm",
    "is_optimal",
)
"""Columns of the CSV that are members of `Result`."""

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_LONGEST_REASON = 300


def sweep_csv(sweep: Sweep) -> str:
    """A header and a row for each configuration that is done, in the order of the sweep."""
    from usmp.report.plan_formats import name_cell

    names = option_names(sweep.configurations)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = ("number", "name", *names, "status", *FIGURES, "reason", "command")
    writer.writerow([name_cell(column) for column in columns])
    for row in sweep.rows():
        options = dict(row.configuration.options)
        figures = [getattr(row.result, name) for name in FIGURES]
        cells = [
            row.configuration.name,
            *(options.get(name) for name in names),
            row.status,
            *figures,
            row.result.reason,
            row.configuration.command,
        ]
        texts = [name_cell(c) if isinstance(c, str) else "" if c is None else c for c in cells]
        writer.writerow([row.number, *texts])
    return text.getvalue()


def sweep_markdown(sweep: Sweep) -> str:
    """Tables of what is built and of what is not, notes, and the commands of the best."""
    rows = best_first(sweep.rows())
    built = [row for row in rows if row.result.outcome == BUILT]
    lines = [
        "| # | RAM | flash | instructions | configuration | |",
        "|--:|--:|--:|--:|---|---|",
        *(
            f"| {row.number} | {' | '.join(_figures(row))} | "
            f"{markdown_text(row.configuration.label)} | {row.status} |"
            for row in built
        ),
    ]
    refused = [row for row in rows if row.result.outcome != BUILT]
    if refused:
        lines += ["", "| # | configuration | | reason |", "|--:|---|---|---|"]
        lines += [
            f"| {row.number} | {markdown_text(row.configuration.label)} | {row.status} | "
            f"{markdown_text(row.result.reason or '')} |"
            for row in refused
        ]
    lines += ["", *(f"{markdown_text(note)}\n" for note in notes(sweep, rows))]
    lines += [f"{row.number}. {_code(row.configuration.command)}" for row in rows if _is_best(row)]
    return "\n".join(lines).rstrip() + "\n"


def print_sweep(sweep: Sweep, console: Console | None = None) -> None:
    """Print a table, the best first; then reasons, notes, and the commands of the best."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = console or Console(highlight=False)
    rows = best_first(sweep.rows())
    models = ", ".join(shown(file.name) for file in sweep.inputs)
    title = f"{len(rows)} of {len(sweep.configurations)} configurations of {models}"
    # So that the sweep of the defaults has a line a row on a terminal of 80 columns.
    table = Table(
        title=Text(title),
        title_justify="left",
        box=SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
    )
    for heading in ("#", "RAM", "flash", "instructions"):
        table.add_column(heading, justify="right", no_wrap=True)
    names = option_names(sweep.configurations)
    has_sets = any(row.configuration.name is not None for row in rows)
    for name in (*(["set"] if has_sets else []), *names):
        # Names are Text, so that rich takes nothing in them for markup.
        table.add_column(Text(shown(name).replace("_", "_\n")), overflow="fold")
    table.add_column("best", no_wrap=True)
    for row in rows:
        if row.result.outcome == BUILT:
            options = dict(row.configuration.options)
            cells = [
                *([row.configuration.name or ""] if has_sets else []),
                *(options.get(name, "") for name in names),
            ]
            texts = [Text(shown(cell)) for cell in cells]
            table.add_row(str(row.number), *_figures(row), *texts, _best(row))
    if table.row_count:
        console.print(table)
    else:
        console.print(Text(title))
    for row in rows:
        if row.result.reason is not None:
            what = f"{row.number} ({shown(row.configuration.label)}): {row.status}"
            console.print(Text(f"{what}: {shown(row.result.reason, _LONGEST_REASON)}"))
    for note in notes(sweep, rows):
        console.print(Text(note))
    for row in rows:
        if _is_best(row):
            # On one line, however narrow the terminal: it is there to be copied.
            console.print(
                Text(f"{row.number}: {printable(row.configuration.command)}"), soft_wrap=True
            )


def notes(sweep: Sweep, rows: Sequence[Row]) -> list[str]:
    """What a reader has to know of the figures, a sentence each."""
    built = [row.result for row in rows if row.result.outcome == BUILT]
    if not built:
        return []
    costs = compared_costs([row.result for row in rows])
    return [
        *_code_notes(rows),
        "RAM is workspace pools, and inputs and outputs outside of them, without the stack.",
        _instruction_note(rows),
        f"Best is what nothing else is better than in {_listed(costs)} without being worse in "
        "another of them.",
    ]


def _code_notes(rows: Sequence[Row]) -> list[str]:
    """How the bytes of code are known, in the order in which that occurs."""
    compilers: dict[tuple[str, str | None], list[int]] = {}
    for row in sorted(rows, key=lambda row: row.number):
        if row.result.outcome == BUILT:
            kind = (row.result.code, row.result.compiler)
            compilers.setdefault(kind, []).append(row.number)
    sentences = []
    for (code, compiler), numbers in compilers.items():
        if code == UNKNOWN:
            text = "Flash is constants alone, for no C compiler was there that fits"
        elif code == ESTIMATED:
            text = f"Flash is constants and code as of this kind of host ({shown(compiler)}), an "
            text += "estimate: name a core, as --target-c-mcpu=cortex-m4, or a --board"
        else:
            text = f"Flash is constants and code ({shown(compiler)})"
        which = "" if len(compilers) == 1 else f" ({', '.join(map(str, numbers))})"
        sentences.append(f"{text}{which}.")
    return sentences


def _instruction_note(rows: Sequence[Row]) -> str:
    known = sorted(
        {
            (row.result.estimated_operators or 0, row.result.operators or 0)
            for row in rows
            if row.result.outcome == BUILT
        }
    )
    if not any(estimated for estimated, _ in known):
        return "Instructions are not known for this target."
    parts = ", ".join(f"{estimated} of {operators}" for estimated, operators in known)
    return (
        "Instructions are an estimate by the costs of the core, of the operators whose are known "
        f"({parts})."
    )


def _listed(costs: Sequence[str]) -> str:
    words = {"ram_bytes": "RAM", "flash_bytes": "flash", "instructions": "instructions"}
    return " and ".join(filter(None, (", ".join(words[c] for c in costs[:-1]), words[costs[-1]])))


def _is_best(row: Row) -> bool:
    return row.verdict.is_best


def _best(row: Row) -> str:
    """The status in as few letters as a narrow table has room for."""
    if row.dominated_by is not None:
        return f"no: {row.dominated_by}"
    if row.same_as is not None:
        return f"as {row.same_as}"
    return "yes" if row.verdict.is_best else "no: limit"


def _figures(row: Row) -> list[str]:
    result = row.result
    flash = "~" if result.code == ESTIMATED else ">=" if result.code == UNKNOWN else ""
    instructions = "-" if result.instructions is None else f"{result.instructions}"
    return [f"{result.ram_bytes}", f"{flash}{result.flash_bytes}", instructions]


def _code(text: str) -> str:
    """Text as code, whatever backticks are in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence, space = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{space}{printable(text)}{space}{fence}"
