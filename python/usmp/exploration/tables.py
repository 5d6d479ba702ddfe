"""A sweep for readers and spreadsheets: table, CSV, Markdown."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from usmp.algorithms.search import TIME
from usmp.exploration.pareto import compared_costs
from usmp.exploration.result import BUILT, ESTIMATED, NOT_LINKED, UNKNOWN, Result
from usmp.exploration.sweep import Row, Sweep, best_first, option_names
from usmp.names import SMALL
from usmp.report.shared_code import MEASURE_IT, SHARED_CODE_COST
from usmp.report.text_tables import (
    TextTable,
    is_whole,
    markdown_text,
    print_table,
    print_text,
    text_width,
)
from usmp.support.text.plain_text import printable, shown
from usmp.support.text.wrapped_text import cell_width

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
    "code_reason",
    "operators",
    "estimated_operators",
    "shared_code",
    "macs",
    "algorithm",
    "is_optimal",
    "search_ended_by",
)
"""Columns of the CSV with members of `Result`."""

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_LONGEST_REASON = 300
COSTS = ("RAM", "flash", "instructions")
"""Headings of the compared costs."""
_SHELL_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|\S)+""")
_INDENT = "    "


def sweep_csv(sweep: Sweep) -> str:
    """Return CSV with a header, and a row for each configuration with a result, in order."""
    from usmp.report.plan_formats import name_cell

    names = option_names(sweep.configurations)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = ("number", "name", *names, "status", *FIGURES, "reason", "command")
    writer.writerow([name_cell(column) for column in columns])
    for row in sweep.rows():
        options = dict(row.configuration.options)
        values = [getattr(row.result, name) for name in FIGURES]
        cells = [
            row.configuration.name,
            *(options.get(name) for name in names),
            row.status,
            *values,
            row.result.reason,
            row.configuration.command,
        ]
        texts = [name_cell(c) if isinstance(c, str) else "" if c is None else c for c in cells]
        writer.writerow([row.number, *texts])
    return text.getvalue()


def sweep_markdown(sweep: Sweep) -> str:
    """Return Markdown: a table of built configurations, one of others, notes, best commands."""
    rows = best_first(sweep.rows())
    built = [row for row in rows if row.result.outcome == BUILT]
    lines = [
        "| # | RAM | flash | instructions | configuration | |",
        "|--:|--:|--:|--:|---|---|",
        *(
            f"| {row.number} | {' | '.join(figures(row))} | "
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
    """Print a table of built configurations, best first, then reasons, notes, and best commands.

    Cells that are the same in all rows are printed above the table.
    """
    from rich.console import Console
    from rich.text import Text

    console = console or Console(highlight=False)
    rows = best_first(sweep.rows())
    models = ", ".join(shown(file.name) for file in sweep.inputs)
    print_text(f"{len(rows)} of {len(sweep.configurations)} configurations of {models}", console)
    built = [row for row in rows if row.result.outcome == BUILT]
    varied, same = varied_columns(sweep, built)
    if same:
        print_text(same, console)
    table = _table(built, varied)
    print_table(table if is_whole(table, console) else _narrow_table(built, varied), console)
    for row in rows:
        if row.result.reason is not None:
            subject = f"{row.number} ({shown(row.configuration.label)}): {row.status}"
            print_text(f"{subject}: {shown(row.result.reason, _LONGEST_REASON)}", console)
    for note in notes(sweep, rows):
        print_text(note, console)
    for row in rows:
        if _is_best(row):
            command = f"{row.number}: {row.configuration.command}"
            for line in shell_lines(command, text_width(console)):
                # Do not wrap the line at narrow terminals, because users copy it.
                console.print(Text(printable(line)), soft_wrap=True)


def shell_lines(command: str, width: int) -> list[str]:
    """Return a command as lines for a shell, of at most `width` cells unless a word is longer."""
    first, *others = _SHELL_WORD.findall(command)
    lines = [first]
    for word in others:
        # Reserve space for the backslash that continues the line.
        if cell_width(lines[-1]) + cell_width(word) + len("  \\") > width:
            lines.append(_INDENT + word)
        else:
            lines[-1] += f" {word}"
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]


def varied_columns(sweep: Sweep, built: Sequence[Row]) -> tuple[dict[str, list[str]], str]:
    """Return the cells that differ by heading, and a line with the others or an empty text."""
    columns = _columns(sweep, built)
    same = {
        heading: cells[0]
        for heading, cells in columns.items()
        if len(built) > 1 and len(set(cells)) == 1
    }
    varied = {heading: cells for heading, cells in columns.items() if heading not in same}
    line = f"The same in all: {', '.join(_pair(*item) for item in same.items())}" if same else ""
    return varied, line


def _columns(sweep: Sweep, built: Sequence[Row]) -> dict[str, list[str]]:
    """Return the cells of built configurations by heading: costs, set of flags, varied options."""
    costs = zip(*map(figures, built), strict=True)
    columns = {heading: list(cells) for heading, cells in zip(COSTS, costs, strict=False)}
    if any(row.configuration.name is not None for row in sweep.rows()):
        columns["set"] = [row.configuration.name or "" for row in built]
    for name in option_names(sweep.configurations):
        columns[name] = [dict(row.configuration.options).get(name, "") for row in built]
    return columns


def _pair(heading: str, cell: str) -> str:
    if heading == "set" or heading in COSTS:
        return f"{heading} {shown(cell)}"
    return f"{shown(heading)}={shown(cell)}"


def _table(built: Sequence[Row], columns: Mapping[str, Sequence[str]]) -> TextTable:
    """Return a table with a row for each built configuration."""
    rows = [
        [str(row.number), *(cells[place] for cells in columns.values()), _best(row)]
        for place, row in enumerate(built)
    ]
    headings = ("#", *columns, "best")
    numbers = frozenset(i for i, heading in enumerate(headings) if heading in ("#", *COSTS))
    return TextTable("", headings, rows, numbers=numbers)


def _narrow_table(built: Sequence[Row], columns: Mapping[str, Sequence[str]]) -> TextTable:
    """Return the table with all varied options in one column."""
    costs = {heading: cells for heading, cells in columns.items() if heading in COSTS}
    options = {heading: cells for heading, cells in columns.items() if heading not in COSTS}
    varied = [
        " ".join(_pair(heading, cells[place]) for heading, cells in options.items() if cells[place])
        for place in range(len(built))
    ]
    return _table(built, {**costs, "configuration": varied} if options else costs)


def notes(sweep: Sweep, rows: Sequence[Row]) -> list[str]:
    """Return the notes that explain the figures, a sentence each."""
    built = [row.result for row in rows if row.result.outcome == BUILT]
    if not built:
        return []
    costs = compared_costs([row.result for row in rows])
    return [
        *_duplicate_notes(rows),
        *_code_notes(rows),
        *_time_notes(built),
        "RAM is workspace pools, and inputs and outputs outside of them, without the stack.",
        _instruction_note(rows),
        *_shared_code_notes(built, costs),
        f"Best is what nothing else is better than in {_listed(costs)} without being worse in "
        "another of them.",
    ]


def _duplicate_notes(rows: Sequence[Row]) -> list[str]:
    """Return notes about combinations of options that give equal arguments."""
    return [
        f"{row.number} ({shown(row.configuration.label)}) is also "
        f"{shown(', '.join(row.configuration.duplicates), _LONGEST_REASON)}: the options are the "
        "same."
        for row in sorted(rows, key=lambda row: row.number)
        if row.configuration.duplicates
    ]


def _time_notes(built: Sequence[Result]) -> list[str]:
    """Return a note about figures that may be too large, if a time budget ended searches."""
    ended = sum(result.search_ended_by == TIME for result in built)
    if not ended:
        return []
    return [
        f"The time budget ended the search of {ended} of {len(built)}: with a longer "
        "--usmp-time-budget they may take less."
    ]


def _code_notes(rows: Sequence[Row]) -> list[str]:
    """Return notes about the sources of code bytes, in order of first occurrence."""
    compilers: dict[tuple[str, str | None, str | None], list[int]] = {}
    for row in sorted(rows, key=lambda row: row.number):
        if row.result.outcome == BUILT:
            kind = (row.result.code, row.result.compiler, row.result.code_reason)
            compilers.setdefault(kind, []).append(row.number)
    sentences = []
    for (code, compiler, reason), numbers in compilers.items():
        if code == UNKNOWN:
            text = f"Flash is constants alone, for {shown(reason or 'the code is not known')}"
        elif code == NOT_LINKED:
            text = f"Flash is constants and the code of operators ({shown(compiler)}), an estimate "
            text += f"without what is linked with them: {shown(reason)}"
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
        "Instructions are an estimate by the costs of the core, of those operators of which they "
        f"are known ({parts})."
    )


def _shared_code_notes(built: Sequence[Result], costs: Sequence[str]) -> list[str]:
    """Return a note about the cost of shared code, if it is small or not the same in all."""
    kinds = {result.shared_code for result in built}
    if "instructions" not in costs or (len(kinds) == 1 and SMALL not in kinds):
        return []
    return [
        f"{SHARED_CODE_COST}, so no configuration is dominated by one with more shared code; "
        f"{MEASURE_IT}."
    ]


def _listed(costs: Sequence[str]) -> str:
    words = {"ram_bytes": "RAM", "flash_bytes": "flash", "instructions": "instructions"}
    return " and ".join(filter(None, (", ".join(words[c] for c in costs[:-1]), words[costs[-1]])))


def _is_best(row: Row) -> bool:
    return row.verdict.is_best


def _best(row: Row) -> str:
    """Return the status in few letters, for narrow tables."""
    if row.dominated_by is not None:
        return f"no: {row.dominated_by}"
    if row.same_as is not None:
        return f"as {row.same_as}"
    return "yes" if row.verdict.is_best else "no: limit"


def figures(row: Row) -> list[str]:
    """Return RAM, flash and instructions as text, with a sign before an estimate."""
    result = row.result
    flash = (
        "~" if result.code in (ESTIMATED, NOT_LINKED) else ">=" if result.code == UNKNOWN else ""
    )
    is_least = ">=" if result.shared_code == SMALL else ""
    instructions = "-" if result.instructions is None else f"{is_least}{result.instructions}"
    return [f"{result.ram_bytes}", f"{flash}{result.flash_bytes}", instructions]


def _code(text: str) -> str:
    """Return text as Markdown code; the text may contain backticks."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence, space = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{space}{printable(text)}{space}{fence}"
