"""The rows of the table of TVM 0.18's names are sentences, and each can be reached."""

from __future__ import annotations

import re

import pytest

from usmp.tvm018 import ACCEPTED, MAPPED, REFUSED, SECTIONS, OldName, find

ROWS = [
    pytest.param(where, row, id=f"{where} {row.name} {' '.join(row.values)}")
    for where, rows in SECTIONS.items()
    for row in rows
]


@pytest.mark.parametrize(("where", "row"), ROWS)
def test_a_row_is_reached_and_says_why(where: str, row: OldName):
    for value in row.values or ["any-value"]:
        assert find(SECTIONS[where], row.name, value, [row.beside]) is row
    assert row.verdict in (ACCEPTED, MAPPED, REFUSED)
    assert bool(row.to) == (row.verdict == MAPPED)
    assert all(value == value.lower() for value in row.values)
    assert row.beside == row.beside.lower()
    assert re.fullmatch(r"\S.{8,}[^\s.]", row.reason)
