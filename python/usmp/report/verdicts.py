"""Verdicts on whether a model fits, as tables, as Markdown and as the document "usmp.check"."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.text import Text

from usmp.report.fitting import Fitting
from usmp.report.text_tables import (
    TextTable,
    markdown_table,
    markdown_text,
    print_table,
    print_text,
)
from usmp.support.text.plain_text import printable, shown

SCHEMA, VERSION = "usmp.check", 1
"""Name and version of the document; the version changes if a field is removed or redefined."""

_MOST_NAMES = 4
"""Most names of targets before a note; the document has the notes of each target."""


@dataclass(frozen=True)
class Need:
    """The bytes of RAM or of flash that a model needs.

    Parameters
    ----------
    parts
        bytes needed, by use.
    available
        bytes available; None if there is no limit.
    is_whole
        whether all uses are counted; else more bytes are needed.
    """

    parts: Mapping[str, int]
    available: int | None
    is_whole: bool = True

    @property
    def needed(self) -> int:
        """The total of all parts."""
        return sum(self.parts.values())

    @property
    def missing(self) -> int:
        """The needed bytes beyond the available memory."""
        return 0 if self.available is None else max(self.needed - self.available, 0)

    def as_json(self) -> dict[str, Any]:
        """Return the bytes as plain data."""
        return {
            "needed_bytes": self.needed,
            "available_bytes": self.available,
            "missing_bytes": self.missing,
            "parts": dict(self.parts),
            "all_counted": self.is_whole,
        }


@dataclass(frozen=True)
class Verdict:
    """A verdict on whether a model fits a board, a part, or the limits of the user.

    Parameters
    ----------
    name
        name of the board, the part or the limits.
    core
        core for which the model was planned and compiled; empty for none.
    ram, flash
        needed and available bytes.
    why_not
        reason, other than the sizes, why the model does not fit; empty if there is none.
    notes
        sentences about the uses of memory that are counted, and those that are not.
    source
        source of the board's figures.
    is_memory_short
        whether a model that needs less memory could fit.
    fitting
        what makes the model fit; None if it fits, or if nothing was tried.
    """

    name: str
    core: str
    ram: Need
    flash: Need
    why_not: str = ""
    notes: Sequence[str] = ()
    source: str = field(default="")
    is_memory_short: bool = True
    fitting: Fitting | None = None

    @property
    def fits(self) -> bool:
        return not (self.ram.missing or self.flash.missing or self.why_not)


def print_verdicts(title: str, verdicts: Sequence[Verdict], console: Console) -> None:
    """Print a table with a row for each verdict, what makes the model fit, and the notes."""
    print_table(_table(title, verdicts), console)
    fittings = _about(verdicts, _fitting_sentences)
    for sentence in fittings:
        print_text(sentence, console)
    for command in _commands(verdicts):
        # Break no lines, because the command is to be copied.
        console.print(Text(f"  {command}"), soft_wrap=True)
    if fittings:
        console.print()
    for sentence in _about(verdicts, _notes):
        print_text(sentence, console)


def markdown_verdicts(title: str, verdicts: Sequence[Verdict]) -> str:
    """Return the table, what makes the model fit, and the notes as Markdown."""
    fittings, notes = (
        [f"- {markdown_text(sentence)}" for sentence in _about(verdicts, of_one)]
        for of_one in (_fitting_sentences, _notes)
    )
    commands = ["", *(f"      {command}" for command in _commands(verdicts)), ""]
    parts = [f"**{markdown_text(title)}**\n", markdown_table(_table(title, verdicts))]
    return "\n".join([*parts, *fittings, *(commands if fittings else []), *notes]) + "\n"


def verdicts_json(file: str, is_within: bool, verdicts: Sequence[Verdict]) -> str:
    """Return the document "usmp.check" as JSON.

    Parameters
    ----------
    file
        name of the model file.
    is_within
        whether the model fits overall, as in the exit status.
    """
    document = {
        "schema": SCHEMA,
        "version": VERSION,
        "file": file,
        "fits": is_within,
        "targets": [_target(verdict) for verdict in verdicts],
    }
    return json.dumps(document, indent=2) + "\n"


def _target(verdict: Verdict) -> dict[str, Any]:
    return {
        "name": verdict.name,
        "core": verdict.core,
        "fits": verdict.fits,
        "ram": verdict.ram.as_json(),
        "flash": verdict.flash.as_json(),
        "why_not": verdict.why_not,
        "notes": list(verdict.notes),
        "source": verdict.source,
        "fitting": None if verdict.fitting is None else verdict.fitting.as_json(),
    }


def _table(title: str, verdicts: Sequence[Verdict]) -> TextTable:
    headings = ["target", "core", "fits", "RAM", "flash"]
    rows = [
        [
            verdict.name,
            verdict.core,
            "yes" if verdict.fits else "no",
            _cell(verdict.ram),
            _cell(verdict.flash),
        ]
        for verdict in verdicts
    ]
    missing = [_missing(verdict) for verdict in verdicts]
    if any(missing):
        headings.append("missing")
        rows = [[*row, bytes_missing] for row, bytes_missing in zip(rows, missing, strict=True)]
    return TextTable(title, headings, rows, numbers=frozenset({3, 4}))


def _cell(need: Need) -> str:
    """Return a text such as "1250 of 64K", with a plus if not all uses are counted."""
    needed = f"{need.needed}{'' if need.is_whole else '+'}"
    return needed if need.available is None else f"{needed} of {size_text(need.available)}"


def size_text(size_bytes: int) -> str:
    """Return a number of bytes as text; multiples of 1024 have a unit, as 256K or 2M."""
    for unit, factor in (("M", 1 << 20), ("K", 1 << 10)):
        if size_bytes and size_bytes % factor == 0:
            return f"{size_bytes // factor}{unit}"
    return str(size_bytes)


def misfit_sentence(verdict: Verdict) -> str:
    """Return a sentence about a place that the model does not fit, without a period."""
    if missing := _missing(verdict):
        return f"the model does not fit {shown(verdict.name)}; too many bytes: {missing}"
    return verdict.why_not.split(". ")[0]


def _missing(verdict: Verdict) -> str:
    needs = (("RAM", verdict.ram), ("flash", verdict.flash))
    return ", ".join(f"{memory} {need.missing}" for memory, need in needs if need.missing)


def _notes(verdict: Verdict) -> Sequence[str]:
    return [*([verdict.why_not] if verdict.why_not else []), *verdict.notes]


def _fitting_sentences(verdict: Verdict) -> Sequence[str]:
    return [] if verdict.fitting is None else [*verdict.fitting.sentences()]


def _about(verdicts: Sequence[Verdict], of_one: Callable[[Verdict], Sequence[str]]) -> list[str]:
    """Return each distinct sentence, preceded by the names of its targets unless all have it."""
    about: dict[str, list[str]] = {}
    for verdict in verdicts:
        for sentence in of_one(verdict):
            about.setdefault(sentence, []).append(shown(verdict.name))
    return [
        sentence if len(names) == len(verdicts) else f"{_few(names)}: {sentence}"
        for sentence, names in about.items()
    ]


def _commands(verdicts: Sequence[Verdict]) -> list[str]:
    """Return each distinct command that makes the model fit, or miss least."""
    fittings = [verdict.fitting for verdict in verdicts if verdict.fitting is not None]
    return [printable(command) for command in dict.fromkeys(f.command for f in fittings) if command]


def _few(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[: _MOST_NAMES - 1])} and {len(names) - _MOST_NAMES + 1} others"
