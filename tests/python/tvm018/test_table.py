"""The rows of the table of TVM 0.18's names are sentences, and each can be reached."""

from __future__ import annotations

import re

from support.all_cases import check_all
from usmp.tvm018 import ACCEPTED, MAPPED, REFUSED, SECTIONS, OldName, find


def test_each_row_is_reached_and_says_why():
    rows = {
        f"{where} {index}, {row.name}": (where, row)
        for where, rows in SECTIONS.items()
        for index, row in enumerate(rows)
    }
    check_all(rows, check_row)


def check_row(where: str, row: OldName) -> None:
    for value in row.values or ["any-value"]:
        assert find(SECTIONS[where], row.name, value, [row.beside]) is row
    assert row.verdict in (ACCEPTED, MAPPED, REFUSED)
    assert bool(row.to) == (row.verdict == MAPPED)
    assert all(value == value.lower() for value in row.values)
    assert row.beside == row.beside.lower()
    assert re.fullmatch(r"\S.{8,}[^\s.]", row.reason)
