"""How wide the columns of a table are, and what is left out where the terminal is narrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from usmp.support.wrapped_text import cell_width, widest_part, widest_word

_PROSE = 24
"""Cells that sentences and long names keep for as long as other things can become narrower."""
_NAME = 12
"""Cells that a name has of which the middle is left out, or a part of a name goes on below."""
_LEAST = 3
"""Cells of any column, however narrow the terminal is."""


class _Narrowing(IntEnum):
    """What is done to make a table narrower, the last with all before it."""

    NOTHING = 0
    PROSE = 1
    """Sentences have several lines."""
    HEADINGS = 2
    """Headings have several lines."""
    ONE_LINE = 3
    """The middle of names that are to be in one line is left out."""
    LONG = 4
    """Long names have several lines."""
    TIGHT = 5
    """There is one cell between columns, not two."""
    SPACES = 6
    """All cells may have several lines."""
    PARTS = 7
    """All names have several lines."""
    NAMES = 8
    """Parts of names have several lines."""
    ANY = 9
    """Numbers have several lines."""


@dataclass(frozen=True)
class Column:
    """What stands in a column.

    Parameters
    ----------
    heading
        above it.
    cells
        below, with that at the end of the table; lines of a cell have line ends between them.
    is_number
        whether it is aligned at the right.
    is_one_line
        whether the middle of a name is left out rather than the name being in several lines.
    """

    heading: str
    cells: Sequence[str]
    is_number: bool
    is_one_line: bool

    def least_width(self, step: _Narrowing) -> int:
        """The cells that it takes at least."""
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
        """What a line of a cell takes at least."""
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
    """How a table is drawn.

    Parameters
    ----------
    shown
        indices of the columns that are shown.
    widths
        of these, in cells.
    gap
        cells between two columns.
    is_whole
        whether all columns are shown, and short names and numbers have one line.
    """

    shown: Sequence[int]
    widths: Sequence[int]
    gap: int
    is_whole: bool


def lay_out(columns: Sequence[Column], optional: Sequence[int], width: int) -> Layout:
    """As much of a table as fits in the lines of a terminal; no word is broken if that can be.

    Parameters
    ----------
    columns
        of the table.
    optional
        indices of those that are left out rather than that cells of numbers and words have several
        lines, the first first.
    width
        of a line, in cells.
    """
    for count in range(len(optional) + 1):
        shown = [i for i in range(len(columns)) if i not in optional[:count]]
        last = _Narrowing.ONE_LINE if count < len(optional) else _Narrowing.ANY
        found = _fitting([columns[i] for i in shown], width, last)
        if found is not None:
            widths, step = found
            return Layout(shown, widths, _gap(step), not count and step <= _Narrowing.TIGHT)
    return Layout(shown, [_LEAST] * len(shown), _gap(_Narrowing.ANY), False)


def _fitting(
    columns: Sequence[Column], width: int, last: _Narrowing
) -> tuple[list[int], _Narrowing] | None:
    """The widths after as few steps as it takes; None if it takes more than these."""
    before = [column.least_width(_Narrowing.NOTHING) for column in columns]
    for step in map(_Narrowing, range(last + 1)):
        least = [column.least_width(step) for column in columns]
        least = [min(pair) for pair in zip(before, least, strict=True)]
        # Between columns, and a cell at each end.
        room = width - _gap(step) * (len(columns) - 1) - 2
        if sum(least) <= room:
            return _shrunk(before, least, room), step
        before = least
    return None


def _gap(step: _Narrowing) -> int:
    return 2 if step < _Narrowing.TIGHT else 1


def _shrunk(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """The widths, the widest of which lose what there is no room for."""
    found = list(widths)
    while sum(found) > room:
        can_lose = [i for i in range(len(found)) if found[i] > least[i]]
        found[max(can_lose, key=found.__getitem__)] -= 1
    return found


def _heading_measure(step: _Narrowing) -> Callable[[str], int]:
    return cell_width if step < _Narrowing.HEADINGS else widest_part


def _at_most(limit: int, measure: Callable[[str], int]) -> Callable[[str], int]:
    return lambda text: min(limit, measure(text))
