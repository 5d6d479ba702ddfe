"""Choose the columns of a table and their widths, so that it fits a narrow terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from usmp.support.text.wrapped_text import cell_width, widest_part, widest_word

_PROSE = 24
"""Width in cells that sentences and long names keep while other columns can become narrower."""
_NAME = 12
"""Width in cells at which the middle of a name is cut, or a part of a name is wrapped."""
_LEAST = 3
"""Smallest width of a column in cells, even on the narrowest terminal."""


class _Narrowing(IntEnum):
    """Steps that make a table narrower. Each step includes all earlier steps."""

    NOTHING = 0
    PROSE = 1
    """Wrap sentences."""
    HEADINGS = 2
    """Wrap headings."""
    ONE_LINE = 3
    """Cut the middle of names that must stay in one line."""
    LONG = 4
    """Wrap long names."""
    TIGHT = 5
    """Put one cell between columns instead of two."""
    SPACES = 6
    """Wrap all cells at spaces."""
    PARTS = 7
    """Wrap all names behind separators such as _ and /, and between a and B of aB."""
    NAMES = 8
    """Wrap names inside of their parts."""
    ANY = 9
    """Wrap numbers."""


@dataclass(frozen=True)
class Column:
    """The content of a column.

    Parameters
    ----------
    heading
        text of the heading.
    cells
        texts of the cells, with the footer; line ends separate the lines of a cell.
    is_number
        whether the column is aligned at the right.
    is_one_line
        whether to cut the middle of long names instead of wrapping them.
    """

    heading: str
    cells: Sequence[str]
    is_number: bool
    is_one_line: bool

    def least_width(self, step: _Narrowing) -> int:
        """Return the smallest width at a step, in cells."""
        if step == _Narrowing.ANY:
            return _LEAST
        lines = [line for cell in self.cells for line in cell.split("\n")]
        whole = max(map(cell_width, lines), default=0)
        return max(
            _heading_measure(step)(self.heading),
            max(map(self._measure(step), lines), default=0),
            min(_PROSE, whole) if self._is_prose and step < _Narrowing.SPACES else 0,
        )

    @property
    def _is_prose(self) -> bool:
        return not self.is_number and any(" " in cell for cell in self.cells)

    def _measure(self, step: _Narrowing) -> Callable[[str], int]:
        """Return a function that measures the smallest width of a line at a step."""
        if self.is_one_line:
            return cell_width if step < _Narrowing.ONE_LINE else _at_most(_NAME, cell_width)
        if self.is_number:
            return cell_width if step < _Narrowing.SPACES else widest_word
        if step < _Narrowing.LONG:
            return widest_word if self._is_prose and step >= _Narrowing.PROSE else cell_width
        if step < _Narrowing.PARTS:
            return _at_most(_PROSE, cell_width if step < _Narrowing.SPACES else widest_word)
        return _at_most(_PROSE if step < _Narrowing.NAMES else _NAME, widest_part)


@dataclass(frozen=True)
class Layout:
    """The layout of a table.

    Parameters
    ----------
    shown
        indices of the columns to show.
    widths
        widths of these columns, in cells.
    gap
        cells between two columns.
    is_whole
        whether all columns are shown, and short names and numbers are not wrapped.
    """

    shown: Sequence[int]
    widths: Sequence[int]
    gap: int
    is_whole: bool


def lay_out(columns: Sequence[Column], optional: Sequence[int], width: int) -> Layout:
    """Lay out a table in the width of a terminal, and avoid breaking words.

    Parameters
    ----------
    columns
        columns of the table.
    optional
        indices of columns to omit before numbers and words are wrapped, in this order.
    width
        width of a line, in cells.
    """
    for count in range(len(optional) + 1):
        shown = [i for i in range(len(columns)) if i not in optional[:count]]
        last = _Narrowing.ONE_LINE if count < len(optional) else _Narrowing.ANY
        fitting = _fitting([columns[i] for i in shown], width, last)
        if fitting is not None:
            widths, step = fitting
            return Layout(shown, widths, _gap(step), not count and step <= _Narrowing.TIGHT)
    return Layout(shown, [_LEAST] * len(shown), _gap(_Narrowing.ANY), False)


def _fitting(
    columns: Sequence[Column], width: int, last: _Narrowing
) -> tuple[list[int], _Narrowing] | None:
    """Return the widths and the first step up to `last` at which they fit, or None if none does."""
    previous = [column.least_width(_Narrowing.NOTHING) for column in columns]
    for step in map(_Narrowing, range(last + 1)):
        least = [column.least_width(step) for column in columns]
        least = [min(pair) for pair in zip(previous, least, strict=True)]
        # Subtract the gaps between columns, and a cell at each end.
        available = width - _gap(step) * (len(columns) - 1) - 2
        if sum(least) <= available:
            return _shrunk(previous, least, available), step
        previous = least
    return None


def _gap(step: _Narrowing) -> int:
    return 2 if step < _Narrowing.TIGHT else 1


def _shrunk(widths: Sequence[int], least: Sequence[int], available: int) -> list[int]:
    """Reduce the widest columns, cell by cell, until the widths fit."""
    reduced = list(widths)
    while sum(reduced) > available:
        reducible = [i for i in range(len(reduced)) if reduced[i] > least[i]]
        reduced[max(reducible, key=reduced.__getitem__)] -= 1
    return reduced


def _heading_measure(step: _Narrowing) -> Callable[[str], int]:
    return cell_width if step < _Narrowing.HEADINGS else widest_part


def _at_most(limit: int, measure: Callable[[str], int]) -> Callable[[str], int]:
    return lambda text: min(limit, measure(text))
