"""Extents as expressions of sizes: from TIR, computed, bounded, solved, read from damaged JSON."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from tvm import tirx

from support.size_expressions import BOUNDS, random_expression
from usmp.objects.extent import size_expression
from usmp.plain.size_expression import (
    extent_at,
    extent_range,
    is_size_expression,
    shape_text,
    sizes_in,
    solved,
)

SEQ, N = tirx.Var("seq", "int64"), tirx.Var("n", "int64")
NARROW = tirx.Var("seq", "int32")


@pytest.mark.parametrize(
    ("extent", "expression", "text"),
    [
        (7, 7, "7"),
        (tirx.IntImm("int64", 7), 7, "7"),
        (SEQ, "seq", "seq"),
        (SEQ + 1, ["+", "seq", 1], "seq + 1"),
        (tirx.Cast("int64", NARROW) * N, ["*", "seq", "n"], "seq * n"),
        (SEQ - (N - 1), ["-", "seq", ["-", "n", 1]], "seq - (n - 1)"),
        (
            tirx.floordiv(SEQ - 1, 2) + 1,
            ["+", ["//", ["-", "seq", 1], 2], 1],
            "(seq - 1) // 2 + 1",
        ),
        (tirx.floormod(SEQ, 8), ["%", "seq", 8], "seq % 8"),
        (tirx.Max(SEQ + N, tirx.Min(SEQ, N)), None, "max(seq + n, min(seq, n))"),
        (SEQ * (SEQ + N), None, "seq * (seq + n)"),
        (tirx.floordiv(SEQ * (N * 2), 3), None, "seq * (n * 2) // 3"),
    ],
    ids=str,
)
def test_extents_of_tir(extent, expression, text):
    found = size_expression(extent)
    assert found == (found if expression is None else expression)
    assert shape_text([found]) == f"[{text}]"


@pytest.mark.parametrize(
    ("extent", "fault"),
    [
        (tirx.floordiv(SEQ, N), "divides by n, which is no positive number"),
        (tirx.FloorMod(SEQ, tirx.IntImm("int64", -2)), "divides by (-2), which is no positive"),
        (tirx.truncdiv(SEQ, 2), "extents are computed from sizes by +, -, *, //, %, min, max"),
        (tirx.Select(SEQ > 3, SEQ, N), "extents are computed from sizes by"),
    ],
    ids=str,
)
def test_other_extents_are_refused(extent, fault):
    with pytest.raises(ValueError, match=r"^the extent ") as error:
        size_expression(extent)
    assert fault in str(error.value)


def test_extents_that_are_too_large_to_read():
    deep = wide = SEQ
    for _ in range(33):
        deep = deep + N
    with pytest.raises(ValueError, match="is too deep; make the model's shapes simpler"):
        size_expression(deep)
    for _ in range(8):
        wide = tirx.Add(wide, wide)
    with pytest.raises(ValueError, match="is too long; make the model's shapes simpler"):
        size_expression(wide)


def test_values_and_ranges():
    """A range holds all values, and those of growing expressions are taken."""
    for seed in range(300):
        expression = random_expression(Random(seed), 4)
        assert is_size_expression(expression, BOUNDS)
        low, high = extent_range(expression, BOUNDS)
        spans = [range(first, last + 1) for first, last in BOUNDS.values()]
        values = [
            extent_at(expression, dict(zip(BOUNDS, sizes, strict=True)))
            for sizes in product(*spans)
        ]
        assert low <= min(values), expression
        assert max(values) <= high, expression


@pytest.mark.parametrize(
    ("expression", "sizes", "value"),
    [
        (["//", ["-", "a", 8], 3], {"a": 1}, -3),
        (["%", ["-", "a", 8], 3], {"a": 1}, 2),
        (["min", "a", ["max", "b", 3]], {"a": 9, "b": 1}, 3),
    ],
)
def test_quotients_are_rounded_down(expression, sizes, value):
    assert extent_at(expression, sizes) == value


def test_range_of_an_extent_that_grows():
    assert extent_range(["+", ["//", ["-", "a", 1], 2], 1], {"a": (1, 128)}) == (1, 64)
    assert extent_range(["-", 9, "a"], {"a": (1, 5)}) == (4, 8)


@pytest.mark.parametrize(
    ("expression", "value", "known", "found"),
    [
        ("a", 5, {}, ("a", 5)),
        ("a", 5, {"a": 4}, None),
        (7, 5, {}, None),
        (["+", "a", 2], 5, {}, ("a", 3)),
        (["-", "a", 2], 5, {}, ("a", 7)),
        (["-", 9, "a"], 5, {}, ("a", 4)),
        (["*", 4, "a"], 12, {}, ("a", 3)),
        (["*", ["*", 1, "a"], 4], 12, {}, ("a", 3)),
        (["*", 4, "a"], 13, {}, None),
        (["*", 0, "a"], 0, {}, None),
        (["+", "a", "b"], 9, {}, None),
        (["+", "a", "b"], 9, {"b": 4}, ("a", 5)),
        (["+", ["*", 2, "a"], "b"], 9, {"b": 5}, ("a", 2)),
        (["*", "a", "a"], 9, {}, None),
        (["//", "a", 2], 4, {}, None),
        (["max", "a", 2], 4, {}, None),
    ],
    ids=str,
)
def test_what_follows_from_a_value(expression, value, known, found):
    assert solved(expression, value, known) == found


def test_what_is_solved_has_the_value():
    """Or nothing has: a size that the product does not have is not made up."""
    for seed in range(300):
        random = Random(seed)
        expression = random_expression(random, 3)
        sizes = {name: random.randint(*bounds) for name, bounds in BOUNDS.items()}
        known = {name: sizes[name] for name in sizes if random.random() < 0.7}
        found = solved(expression, extent_at(expression, sizes), known)
        assert found is None or found == (found[0], sizes[found[0]])
        assert found is None or found[0] not in known


def nested(depth: int) -> object:
    expression: object = "a"
    for _ in range(depth):
        expression = ["+", expression, 1]
    return expression


def doubled(times: int) -> object:
    expression: object = "a"
    for _ in range(times):
        expression = ["+", expression, expression]
    return expression


@pytest.mark.parametrize(
    ("value", "is_valid"),
    [
        ("a", True),
        (0, True),
        (-(2**31) + 1, True),
        (nested(32), True),
        (doubled(7), True),
        ("c", False),
        ("", False),
        ("+", False),
        (True, False),
        (1.0, False),
        (2**31, False),
        (None, False),
        ({}, False),
        ([], False),
        (["+", "a"], False),
        (["+", "a", 1, 1], False),
        (["**", "a", 2], False),
        ([["+"], "a", 2], False),
        ([0, "a", 2], False),
        (["//", "a", 0], False),
        (["//", "a", -1], False),
        (["//", "a", "b"], False),
        (["%", "a", ["+", 1, 1]], False),
        (["+", "a", ["+", "a", "__import__('os')"]], False),
        (nested(33), False),
        (nested(100_000), False),
        (doubled(8), False),
        (doubled(60), False),
    ],
    ids=lambda value: str(value)[:20] if not isinstance(value, list) else f"{len(value)} parts",
)
def test_which_json_is_an_expression(value, is_valid):
    assert is_size_expression(value, {"a": (1, 4), "b": (1, 4)}) == is_valid


def test_sizes_in_an_expression():
    assert sizes_in(["+", ["*", "b", "a"], ["//", "b", 2]]) == ["b", "a"]
