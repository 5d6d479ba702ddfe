"""docs/operators.md lists the operators of every front end."""

from __future__ import annotations

import pytest

from support.operator_trials.sweep import FRONT_ENDS, operators
from support.operators_page import PAGE, rows_of_page, write_page


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_every_operator_is_listed_with_its_types(front_end):
    rows = rows_of_page(PAGE.read_text())[front_end]
    assert list(rows) == operators(front_end), (
        f"python benchmarks/operators_page.py --missing {front_end} compares what is missing"
    )
    assert all(types.outputs for types in rows.values())


def test_the_page_is_written_by_its_script():
    page = PAGE.read_text()
    assert write_page(rows_of_page(page)) == page
