"""Checks of values of a JSON file: what passes, as what, and where the rest is."""

from __future__ import annotations

import math

import pytest

from support.lazy import lazy

checks = lazy("usmp.frontend.pytorch.pt2.json_checks")

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("check", "values", "others"),
    [
        ("boolean", [True, False], [1, 0, None, "True"]),
        ("integer", [0, -5, LARGEST, -LARGEST], [True, 1.0, "1", None, LARGEST + 1, -LARGEST - 1]),
        ("number", [0, 2.5, -LARGEST, math.inf], [True, "1", "inf", None, LARGEST + 1]),
        ("identifier", ["x", "_x1", "p_weight"], ["", "1x", "a b", "a.b", None, 5]),
    ],
)
def test_plain_values(check, values, others):
    check = getattr(checks, check)
    for value in values:
        passed = check(value, "f.json")
        assert (passed, type(passed)) == (value, type(value))
    for value in others:
        with pytest.raises(checks.NotAllowedError, match=r"^f\.json is "):
            check(value, "f.json")


def test_numbers_that_json_does_not_have():
    assert checks.number("Infinity", "f") == math.inf
    assert checks.number("-Infinity", "f") == -math.inf
    assert math.isnan(checks.number("NaN", "f"))


def test_text_matches_as_a_whole():
    check = checks.text("[a-c]+")
    assert check("abc", "f") == "abc"
    for value in ("", "abcd", "dabc", "abc\n", 5, None):
        with pytest.raises(checks.NotAllowedError):
            check(value, "f")


def test_one_of_a_few_values():
    check = checks.one_of(0, "", True)
    assert [check(value, "f") for value in (0, "", True)] == [0, "", True]
    for value in (False, 1, 0.0, None, "x"):
        with pytest.raises(checks.NotAllowedError, match="not one of 0, '', True"):
            check(value, "f")


def test_null_and_what_is_replaced():
    check = checks.nullable(checks.integer)
    assert check(None, "f") is None
    assert check(0, "f") == 0
    with pytest.raises(checks.NotAllowedError):
        check("x", "f")
    assert checks.always([])({"any": "thing"}, "f") == []


def raised(check, value):
    with pytest.raises(checks.NotAllowedError) as caught:
        check(value, "f")
    return str(caught.value)


def test_lists_and_dictionaries_say_where_something_is():
    check = checks.list_of(checks.integer)
    assert check([1, 2], "f") == [1, 2]
    assert raised(check, [1, "x"]) == "f[1] is 'x', not an integer of 64 bits"
    assert raised(check, (1,)) == "f is (1,), not a list"
    check = checks.dict_of(checks.identifier, checks.integer)
    assert check({"a": 1}, "f") == {"a": 1}
    assert raised(check, {"a": True}).startswith("f['a'] is True")
    assert raised(check, {"a b": 1}) == "a key of f is 'a b', not a plain name"
    assert raised(check, [["a", 1]]).endswith("not a dictionary")


def test_records_have_known_keys_only():
    check = checks.record({"a": checks.integer, "b": checks.boolean})
    assert check({"b": True, "a": 1}, "f") == {"a": 1, "b": True}
    assert check({"a": 1}, "f") == {"a": 1}
    assert check({}, "f") == {}
    assert raised(check, {"a": 1, "c": 1}) == "a key of f is 'c', which is not known"
    assert raised(check, {"a": {}}).startswith("f.a is {}")


def test_unions_have_exactly_one_key():
    check = checks.union({"a": checks.integer, "b": checks.boolean})
    assert check({"b": True}, "f") == {"b": True}
    for value in ({}, {"a": 1, "b": True}):
        assert raised(check, value).endswith("not a value with its kind")
    assert raised(check, {"c": 1}) == "a key of f is 'c', which is not known"


def test_what_is_long_is_cut():
    assert raised(checks.integer, "x" * 58) == f"f is '{'x' * 58}', not an integer of 64 bits"
    assert raised(checks.integer, "x" * 59) == f"f is '{'x' * 59} ..., not an integer of 64 bits"
    assert str(checks.refused(5, "f")) == "f is 5"
