"""Parsing of a CSV: its columns, their numbers, and the line of every buffer.

NumPy reads plain files, without quotes, empty lines or empty numbers, as a whole. Any other file is
read line by line, which is slower, but gives precise errors.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from copyreg import __newobj__  # type: ignore[attr-defined]
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from usmp_solver.columns import INT64_MAX, Column


@dataclass(frozen=True)
class Dialect:
    """The columns that a file may have.

    Parameters
    ----------
    names
        names of columns, and their meanings.
    required
        meanings that must be present.
    numbers
        meanings of columns of numbers, each with the value of an empty cell; None if cells may not
        be empty.
    texts
        meanings of columns of text.
    """

    names: Mapping[str, str]
    required: tuple[str, ...]
    numbers: Mapping[str, int | None]
    texts: tuple[str, ...]


NO_OFFSET = -INT64_MAX - 1
"""The number for an empty offset cell; every number in a file is larger."""

_NAMES = {
    "id": "id",
    "buffer": "id",
    "buffer_id": "id",
    "lower": "lower",
    "begin": "lower",
    "start": "lower",
    "upper": "upper",
    "end": "upper",
    "size": "size",
    "alignment": "alignment",
    "offset": "offset",
    "gaps": "gaps",
    "pool": "pool",
    "hint": "hint",
}
"""Names of columns, and their meanings; the synonyms are MiniMalloc's."""

MINIMALLOC = Dialect(
    names=_NAMES,
    required=("id", "lower", "upper", "size"),
    numbers={"lower": None, "upper": None, "size": None, "alignment": 1, "offset": NO_OFFSET},
    texts=("id", "gaps", "pool"),
)
"""The columns of MiniMalloc, and `pool`."""

_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
"""Separators that other programs write between columns."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
_SMALL_INTEGER = r"[+-]?[0-9]{1,18}"
"""An integer that certainly fits 64 bits."""


class CsvError(ValueError):
    """An error in a file, with its position."""

    def __init__(self, file: str, line: int | None, buffer: str | None, words: str) -> None:
        where = [file, *([] if line is None else [f"line {line}"])]
        where += [] if buffer is None else [f'buffer "{buffer}"']
        super().__init__(f"{', '.join(where)}: {words}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the parts of a pickle: the text, because `__init__` takes other arguments."""
        return __newobj__, (type(self), *self.args), vars(self)


@dataclass(frozen=True)
class Cells:
    """The columns of a file, with a row for every buffer.

    Parameters
    ----------
    header
        names as in the file.
    meanings
        meanings of the names, in the same order.
    lines
        line of each buffer; the first line of the file is 1.
    numbers
        columns of numbers by meaning, if the file has them.
    texts
        columns of text by meaning.
    is_plain
        whether every line is a buffer, and every comma separates two cells.
    """

    header: list[str]
    meanings: list[str]
    lines: Column
    numbers: dict[str, Column]
    texts: dict[str, list[str]]
    is_plain: bool = False

    @property
    def end_is_inclusive(self) -> bool:
        """Whether a column is named `end`: MiniMalloc then includes the ends of ranges and gaps."""
        return "end" in (name.strip().lower() for name in self.header)


def read_cells(file: str, data: bytes, dialect: Dialect = MINIMALLOC) -> Cells:
    """Parse the cells of a file.

    Raises
    ------
    CsvError
        A column is missing, unknown or duplicate, a line has more or fewer cells than the
        header, or a cell in a column of numbers is no number.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise CsvError(file, line, None, "this is no UTF-8 text; is the file a CSV?") from None
    return _read_plain(file, text, dialect) or _read_rows(file, text, dialect)


def _meanings(file: str, line: int, header: list[str], dialect: Dialect) -> list[str]:
    meanings = []
    for name in header:
        meaning = dialect.names.get(name.strip().lower())
        if meaning is None:
            separator = next((char for char in ";\t|" if char in name), None)
            if len(header) == 1 and separator is not None:
                words = f"columns are separated by commas, not by {_SEPARATORS[separator]}"
            else:
                words = (
                    f'the column "{name.strip()}" is unknown; known: {", ".join(dialect.names)}; '
                    "the first line must name the columns"
                )
            raise CsvError(file, line, None, words)
        if meaning in meanings:
            raise CsvError(file, line, None, f'two columns say "{meaning}"; leave one of them out')
        meanings.append(meaning)
    for name in dialect.required:
        if name not in meanings:
            known = ", ".join(dialect.required)
            words = f'the column "{name}" is missing; these must be there: {known}'
            raise CsvError(file, line, None, words)
    return meanings


def _read_plain(file: str, text: str, dialect: Dialect) -> Cells | None:
    """Return the cells of a plain file; None for any other file, or if a cell is wrong."""
    text = text.replace("\r\n", "\n")
    first, _, rest = text.partition("\n")
    if '"' in text or "\r" in text or not first.strip():
        return None
    header = first.split(",")
    meanings = _meanings(file, 1, header, dialect)
    if not rest or _irregular_line(meanings, dialect).search("\n" + rest.removesuffix("\n")):
        return None
    types = [(meaning, np.int64 if meaning in dialect.numbers else object) for meaning in meanings]
    try:
        rows = np.loadtxt(io.StringIO(rest), types, comments=None, delimiter=",", ndmin=1)
    except ValueError:
        return None
    numbers = {name: rows[name].copy() for name in dialect.numbers if name in meanings}
    texts = {
        name: [*map(str.strip, rows[name].tolist())] for name in dialect.texts if name in meanings
    }
    return Cells(header, meanings, np.arange(len(rows)) + 2, numbers, texts, is_plain=True)


def _irregular_line(meanings: list[str], dialect: Dialect) -> re.Pattern[str]:
    """Return a pattern of a line that lacks a cell, or has something else in place of a number.

    NumPy reads 1.5 as 1 with a warning only. Warning filters are global to all threads, so the
    warning cannot become an error in one of them.
    """
    number = rf"[^\S\n]*{_SMALL_INTEGER}[^\S\n]*"
    cells = (number if meaning in dialect.numbers else r"[^,\n]*" for meaning in meanings)
    return re.compile(rf"\n(?!{','.join(cells)}(?:\n|\Z))")


def _read_rows(file: str, text: str, dialect: Dialect) -> Cells:
    """Return the cells of any file."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] = []
    meanings: list[str] = []
    lines: list[int] = []
    rows: list[list[str]] = []
    line = 1
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                pass  # An empty line.
            elif not header:
                header, meanings = row, _meanings(file, line, row, dialect)
            else:
                _check_length(file, line, header, row)
                lines.append(line)
                rows.append([cell.strip() for cell in row])
            line = reader.line_num + 1
    except csv.Error as error:
        words = f"the line cannot be read ({error}); is there a quote that nothing closes?"
        raise CsvError(file, line, None, words) from None
    if not header:
        words = f"the file is empty; its first line must be {','.join(dialect.required)}"
        raise CsvError(file, None, None, words)
    if not rows:
        raise CsvError(file, None, None, "there is no buffer below the first line")
    columns = dict(zip(meanings, map(list, zip(*rows, strict=True)), strict=True))
    numbers = {
        name: np.array(
            [
                _number(file, line, buffer, name, cell, dialect.numbers[name])
                for line, buffer, cell in zip(lines, columns["id"], columns[name], strict=True)
            ],
            np.int64,
        )
        for name in dialect.numbers
        if name in columns
    }
    texts = {name: columns[name] for name in dialect.texts if name in columns}
    return Cells(header, meanings, np.array(lines, np.int64), numbers, texts)


def _check_length(file: str, line: int, header: list[str], row: list[str]) -> None:
    if len(row) != len(header):
        raise CsvError(
            file,
            line,
            None,
            f"the line has {len(row)} cells, but the first line names {len(header)} columns; write "
            "cells that have commas in quotes",
        )


def _number(
    file: str, line: int, buffer: str, column: str, cell: str, empty: int | None = None
) -> int:
    if not cell and empty is not None:
        return empty

    def refuse(words: str) -> NoReturn:
        raise CsvError(file, line, buffer, f'{column} is "{cell}"; {words}')

    if not _INTEGER.fullmatch(cell):
        refuse("write a whole number")
    if len(cell) > 100 or abs(int(cell)) > INT64_MAX:
        refuse("the number does not fit 64 bits")
    return int(cell)
