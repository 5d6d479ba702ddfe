"""The table of what a search compared."""

from __future__ import annotations

from usmp.report.compared_table import compared_table


def line(*alternatives, **others):
    return {"stage": "groups", "taken": "split", "unit": "bytes", "peak_bytes": 7} | {
        "alternatives": list(alternatives),
        **others,
    }


def other(value="fused", why="larger", **numbers):
    return {"value": value, "why": why, **numbers}


def rows(*lines):
    table = compared_table({"search": list(lines)})
    return None if table is None else [list(row) for row in table.rows]


def test_nothing_was_compared():
    assert compared_table({}) is None
    assert rows(line()) is None


def test_each_alternative_has_its_bytes_and_the_reason():
    alternatives = [
        other(peak_bytes=9),
        other("some", "bound", bound_bytes=8),
        other("none", "no plan"),
    ]
    assert rows(line(*alternatives)) == [
        [
            "groups of fused operators",
            "split",
            "7",
            "fused: 9 (larger)\nsome: at least 8\nnone: no plan",
        ]
    ]


def test_many_alternatives_are_counted():
    [[*_, cell]] = rows(line(*(other(str(number)) for number in range(6))))
    assert cell.splitlines()[-2:] == ["3: larger", "2 more"]


def test_the_entry_and_a_missing_plan():
    [row] = rows(line(other(), entry="decode"), line())
    assert row[0] == "groups of fused operators, entry decode"
    without_plan = line(other())
    del without_plan["peak_bytes"]
    assert rows(without_plan)[0][2] == ""


def test_names_of_models_are_shown_plain():
    [row] = rows(line(other("a\x1b[31m", "refused: \x1b]0;x")))
    assert "\x1b" not in row[3]
