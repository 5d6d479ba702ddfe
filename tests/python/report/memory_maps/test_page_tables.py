"""The tables of the page of a memory map: their columns, rows and what is left out."""

from __future__ import annotations

import re
from html import unescape

import pytest

from support.map_views import buffer, entry, memory_map, operator, pool
from usmp.report.map_data import Measured
from usmp.report.memory_maps.page_tables import (
    buffers_table,
    entries_table,
    operator_text,
    operators_table,
    pools_table,
)
from usmp.report.offline_pages.table import name_html


def cells(table, row):
    """The texts of a row's cells; row -1 is that of the headings."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.S)
    found = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", rows[row + 1], re.S)
    return [unescape(re.sub(r"</?(bdi|span|div)>", "", text)) for text in found]


def column(table, heading, row=0):
    return cells(table, row)[cells(table, -1).index(heading)]


def test_names_are_escaped_and_keep_their_direction():
    assert name_html("<b>&") == "<bdi>&lt;b&gt;&amp;</bdi>"


def test_pools_are_said_with_what_is_proved():
    pools = (pool(limit=0), pool(name="fast", is_optimal=True, bound=100))
    table = pools_table(memory_map(*pools))
    headings = ["Pool", "Kind", "Peak bytes", "Lower bound", "Optimal", "Limit", "Most live bytes"]
    assert cells(table, -1) == headings
    assert cells(table, 0) == ["sram", "workspace", "100", "80", "unknown", "0", "90"]
    assert cells(table, 1) == ["fast", "workspace", "100", "100", "yes", "none", "90"]


def test_the_operator_at_the_peak_is_named_if_it_is_known_of_a_pool():
    pools = (pool(peak_operator=0), pool(name="other"))
    table = pools_table(memory_map(*pools, operators=[operator(0, label="CONV")]))
    assert column(table, "Operator at the peak") == "CONV"
    assert column(table, "Operator at the peak", 1) == ""


def test_entries_are_said_if_there_are_several():
    assert entries_table(memory_map()) == ""
    table = entries_table(memory_map(entries=[entry("a"), entry("b", (4, 9))]))
    assert cells(table, 0) == ["a", "15", "3", "2", "0-4"]
    assert cells(table, 1) == ["b", "15", "3", "2", "4-9"]


def test_buffers_are_said_with_their_overlaps_and_operators():
    first = buffer("x", 8, [(0, 2), (3, 4)], 16, kind="input", read_by=(0, 1))
    second = buffer("y", overlaps={"x": 4, "z": 2}, written_by=(1,))
    pools = (pool(first), pool(buffer("w"), second, name="fast"))
    table = buffers_table(memory_map(*pools, operators=[operator(0), operator(1)]))
    assert cells(table, 0) == ["x", "sram", "input", "16", "8", "0-2, 3-4", "", "", "op0, op1"]
    assert cells(table, 2)[6:] == ["4 of x, 2 of z", "op1", ""]
    # The script of the page finds rows by the pool, and by the place in it.
    ids = re.findall(r'data-pool="(\d)" data-id="(\d)"', table)
    assert ids == [("0", "0"), ("1", "0"), ("1", "1")]
    assert "<caption>3 buffers; sizes" in table and 'id="buffer-table"' in table


def test_operators_of_buffers_are_left_out_if_none_is_known():
    assert cells(buffers_table(memory_map(pool(buffer("x")))), -1)[-1] == "Overwrites"
    for known in ({"written_by": (0,)}, {"read_by": (0,)}):
        drawn = memory_map(pool(buffer("x", **known)), operators=[operator(0)])
        assert cells(buffers_table(drawn), -1)[-2:] == ["Written by", "Read by"]


def test_operators_without_facts_have_the_least_columns():
    assert "does not say which operators" in operators_table(memory_map())
    table = operators_table(memory_map(pool(), operators=[operator(0), operator(1)]))
    assert cells(table, -1) == ["#", "Operator", "Function", "MACs", "Instructions (about)"]
    assert cells(table, 0) == ["0", "op0", "f0", "", ""]
    assert re.findall(r'data-id="(\d)"', table) == ["0", "1"]
    assert "<caption>2 operators, in" in table and 'id="operator-table"' in table


def test_what_is_known_of_an_operator_has_a_column():
    operators = [
        operator(0, macs=0, instructions=7, weights_bytes=0, live_bytes={"sram": 12}),
        operator(1, measured=Measured(2.6, "ns", 3)),
    ]
    pools = (pool(), pool(name="other"), pool(name="flash", kind="constant"))
    drawn = memory_map(*pools, operators=operators)
    table = operators_table(drawn)
    assert cells(table, -1)[3:] == [
        "MACs",
        "Instructions (about)",
        "Time measured (ns)",
        "Weights in bytes",
        "Live in sram",
    ]
    assert cells(table, 0)[3:] == ["0", "7", "", "0", "12"]
    numbers = [bool(a) for a in re.findall(r'<th scope="col"([^>]*)>', table)]
    assert numbers == [True, False, False, *[True] * 5]
    assert cells(table, 1)[3:] == ["", "", "3", "", "0"]


def test_live_bytes_of_constant_pools_are_left_out():
    operators = [operator(0, live_bytes={"flash": 1, "sram": 2})]
    drawn = memory_map(pool(), pool(name="flash", kind="constant"), operators=operators)
    assert cells(operators_table(drawn), -1)[-1] == "Live in sram"


def test_costs_are_in_the_column_of_their_unit():
    measured = [Measured(5, "cycles", 1), Measured(7, "instructions", 1)]
    operators = [operator(n, measured=each) for n, each in enumerate(measured)]
    table = operators_table(memory_map(operators=operators))
    assert cells(table, -1)[-2:] == ["Clock cycles measured", "Instructions measured"]
    assert [cells(table, n)[-2:] for n in range(2)] == [["5", ""], ["", "7"]]


def test_entries_of_operators_are_said_if_there_are_several():
    entries = [entry("a"), entry("b")]
    drawn = memory_map(operators=[operator(0, entry="b")], entries=entries)
    assert column(operators_table(drawn), "Entry") == "b"
    assert operator_text(drawn, 0) == "op0"


def test_numbers_are_aligned_as_numbers_and_the_name_heads_its_row():
    table = operators_table(memory_map(operators=[operator(0)]))
    heads = re.findall(r'<th scope="col"([^>]*)>', table)
    is_number = [' class="number"' in attributes for attributes in heads]
    assert is_number == [True, False, False, True, True]
    (row,) = re.findall(r"<tbody>\n(.*)\n</tbody>", table)
    tags = re.findall(r"<(t[dh])([^>]*)>", row)
    assert [tag for tag, _ in tags] == ["td", "th", "td", "td", "td"]
    assert [' class="number"' in attributes for _, attributes in tags] == is_number
    buffers = buffers_table(memory_map(pool(buffer("x"))))
    heads = re.findall(r'<th scope="col"([^>]*)>', buffers)
    assert [bool(attributes) for attributes in heads] == [False] * 3 + [True] * 2 + [False] * 2
    assert "<tr data-pool" in buffers and "><th scope=row><span><bdi>x" in buffers
    pools = pools_table(memory_map(pool()))
    entries = entries_table(memory_map(entries=[entry("a"), entry("b")]))
    assert "<tr><th scope=row><span><bdi>sram" in pools
    assert "<tr><th scope=row><span><bdi>a" in entries
    numbers = [
        [' class="number"' in a for a in re.findall(r'<th scope="col"([^>]*)>', each)]
        for each in (
            pools_table(memory_map(pool(peak_operator=0), operators=[operator(0)])),
            entries_table(memory_map(entries=[entry("a"), entry("b")])),
        )
    ]
    assert numbers == [
        [False, False, True, True, False, True, True, False],
        [False, True, True, True, False],
    ]


@pytest.mark.parametrize(("rows", "is_tall"), [(25, False), (26, True)])
def test_a_long_table_scrolls(rows, is_tall):
    table = buffers_table(memory_map(pool(*(buffer(f"b{n}") for n in range(rows)))))
    assert ('class="table tall"' in table) is is_tall
