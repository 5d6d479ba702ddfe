"""Files that are read as a whole mean what they mean line by line."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from usmp_solver.formats.csv_cells import CsvError, read_cells

ODD_NUMBERS = [
    *("", " ", "-1", "+3", "007", " 4 ", "1_0", "1.0", "1e3", "nan", "0x10", "#1", "٣", "²", "-"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "1" * 30),
]
NUMBERS = st.integers(0, 99).map(str) | st.sampled_from(ODD_NUMBERS)
TEXTS = st.text(st.characters(exclude_characters='\n\r,"', exclude_categories=["Cs"]), max_size=4)
HEADER = ["id", "lower", "upper", "size", "alignment", "pool"]


def read(text: str):
    try:
        cells = read_cells("in.csv", text.encode())
    except CsvError as error:
        return str(error)
    numbers = {name: values.tolist() for name, values in cells.numbers.items()}
    return cells.meanings, cells.lines.tolist(), numbers, cells.texts


@pytest.mark.slow
@given(
    st.integers(4, len(HEADER)),
    st.lists(st.tuples(TEXTS, *[NUMBERS] * 4, TEXTS), min_size=1, max_size=4),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_as_a_whole_and_line_by_line(columns, rows, newline, ends):
    lines = [",".join(row[:columns]) for row in (HEADER, *rows)]
    rest = newline.join(lines[1:]) + (newline if ends else "")
    quoted = ",".join(f'"{name}"' for name in HEADER[:columns])
    assert read(lines[0] + newline + rest) == read(quoted + newline + rest)


def test_warnings_of_other_threads_are_left_alone(monkeypatch):
    """Filters of warnings are those of the process."""
    before, during = list(warnings.filters), []
    load = np.loadtxt

    def loadtxt(*arguments, **options):
        during.append(list(warnings.filters))
        return load(*arguments, **options)

    monkeypatch.setattr(np, "loadtxt", loadtxt)
    assert read("id,lower,upper,size\na,0,1,4")[2]["size"] == [4]
    assert during == [before]
    assert read("id,lower,upper,size\na,0,1,4.5").endswith('size is "4.5"; write a whole number')
