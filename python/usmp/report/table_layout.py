"""Choose the columns of a table and their widths.

A table looks the same on a terminal, in a file and in a log. It is as wide as its names and numbers
need, because these stay in one piece; sentences are wrapped if the table then fits one or two pages
of `PAGE` cells. Only a terminal that is narrower than the table makes it narrower.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from usmp.support.text.wrapped_text import cell_width, widest_part, widest_word

PAGE = 80
"""Width in cells to which a table shrinks by wrapping its sentences."""
_PROSE = 22
"""Width in cells that sentences and long names keep while other columns can become narrower."""
_NAME = 12
"""Width in cells that wrapped cells keep, to have several words."""
_SHORTENED = 18
"""Width in cells that names without their middle keep while columns can be omitted."""


class _Narrowing(IntEnum):
    """Steps that make a table narrower. Each step includes all earlier steps."""

    NOTHING = 0
    PROSE = 1
    """Wrap sentences."""
    HEADINGS = 2
    """Wrap headings."""
    TIGHT = 3
    """Put one cell between columns instead of two."""
    ONE_LINE = 4
    """Cut the middle of names that must stay in one line."""
    LONG = 5
    """Wrap long names."""
    SPACES = 6
    """Wrap all cells at spaces."""
    PARTS = 7
    """Wrap all names behind separators such as _ and /, and between a and B of aB."""
    NAMES = 8
    """Wrap names inside of their parts."""
    WORDS = 9
    """Wrap behind each word, on terminals that are too narrow for anything else."""


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
        lines = [line for cell in self.cells for line in cell.split("\n")]
        whole = max(map(cell_width, lines), default=0)
        kept = _PROSE if self._is_prose and step < _Narrowing.SPACES else _NAME
        return max(
            _heading_measure(step)(self.heading),
            max(map(self._measure(step), lines), default=0),
            min(kept, whole) if step < _Narrowing.WORDS else 0,
        )

    @property
    def _is_prose(self) -> bool:
        return not self.is_number and any(" " in cell for cell in self.cells)

    def _measure(self, step: _Narrowing) -> Callable[[str], int]:
        """Return a function that measures the smallest width of a line at a step."""
        if self.is_one_line:
            if step < _Narrowing.ONE_LINE:
                return cell_width
            return _at_most(_SHORTENED if step < _Narrowing.SPACES else _NAME, cell_width)
        if self.is_number:
            if step < _Narrowing.NAMES:
                return cell_width if step < _Narrowing.SPACES else widest_word
            return _at_most(_NAME, widest_part)
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

    @property
    def width(self) -> int:
        """The cells of a line, with a cell at each end."""
        return sum(self.widths) + self.gap * (len(self.widths) - 1) + 2


def lay_out(columns: Sequence[Column], optional: Sequence[int], width: int) -> Layout:
    """Lay out a table in lines of at most `width` cells, as long as every column can be read.

    Parameters
    ----------
    columns
        columns of the table.
    optional
        indices of columns to omit before numbers and words are wrapped, in this order.
    width
        width of a line, in cells.
    """
    steps = list(_Narrowing)
    natural = steps[: _Narrowing.TIGHT + 1]
    everything = range(len(columns))
    layout = (
        _fitting(columns, everything, natural, PAGE)
        or _fitting(columns, everything, natural, 2 * PAGE)
        or _narrowest(columns, everything, _Narrowing.HEADINGS)
    )
    if layout.width <= width:
        return layout
    for count in range(len(optional) + 1):
        kept = [i for i in everything if i not in optional[:count]]
        allowed = steps if count == len(optional) else steps[: _Narrowing.ONE_LINE + 1]
        if fitting := _fitting(columns, kept, allowed, width):
            return fitting
    return _narrowest(columns, kept, steps[-1])


def _fitting(
    columns: Sequence[Column], kept: Sequence[int], steps: Sequence[_Narrowing], width: int
) -> Layout | None:
    """Return the layout of the first step at which some columns fit, or None if they never do."""
    previous = _narrowest(columns, kept, steps[0])
    for step in steps:
        least = _narrowest(columns, kept, step)
        if least.width <= width:
            available = width - (least.width - sum(least.widths))
            return replace(least, widths=_shrunk(previous.widths, least.widths, available))
        previous = least
    return None


def _narrowest(columns: Sequence[Column], kept: Sequence[int], step: _Narrowing) -> Layout:
    """Return the narrowest layout of some columns at a step."""
    widths = [columns[i].least_width(step) for i in kept]
    is_whole = len(kept) == len(columns) and step <= _Narrowing.LONG
    return Layout(kept, widths, _gap(step), is_whole)


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
