"""Names of a model as C identifiers."""

import re

import pytest

from usmp.codegen.c.names import Scope, sanitise, sanitise_all, symbol_prefix


def test_sanitise():
    cases = [
        ("input_1", "input_1"),
        ("a/b:0", "a_b_0"),
        ("0", "_0"),
        ("", "_"),
        ("été", "__t__"),
        ("x²", "x__"),
        ("int", "int_"),
        ("double", "double_"),
        ("class", "class_"),
        ("not", "not_"),
        ("typeof", "typeof_"),
        ("_Static_assert", "_Static_assert_"),
        ("int8_t", "int8_t_"),
        ("NAN", "NAN_"),
        ("INT32_MAX", "INT32_MAX_"),
        ("UINT_LEAST8_MAX", "UINT_LEAST8_MAX_"),
        ("M_PI", "M_PI_"),
        ("TVMGEN_MAY_ALIAS", "TVMGEN_MAY_ALIAS_"),
        ("float_alias", "float_alias_"),
        ("tvmgen_max_int8", "tvmgen_max_int8_"),
        ("unix", "unix_"),
        ("integer", "integer"),
        ("exp", "exp"),
    ]
    assert [sanitise(name) for name, _ in cases] == [identifier for _, identifier in cases]


def test_sanitise_all_keeps_order():
    assert sanitise_all(["b", "a/x", "int"], "tensor") == ["b", "a_x", "int_"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a/b", "a:b"], 'tensor names "a/b" and "a:b" are both a_b in C; rename one of them'),
        (["int", "int_"], 'tensor names "int" and "int_" are both int_ in C'),
        (["x", "x"], 'tensor names "x" and "x" are both x in C'),
    ],
)
def test_names_that_become_the_same_are_refused(names, message):
    with pytest.raises(ValueError, match=message):
        sanitise_all(names, "tensor")


def test_a_scope_gives_each_variable_its_own_name():
    scope = Scope(["taken"])
    names = [scope.unique(n) for n in ("x", "x", "x_1", "taken", "x", "int", "a.b", "a:b")]
    assert names == ["x", "x_1", "x_1_1", "taken_1", "x_2", "int_", "a_b", "a_b_1"]


@pytest.mark.parametrize("function", ["exp", "expf", "isnan", "lgamma", "truncf", "fmod"])
def test_a_scope_does_not_hide_mathematical_functions(function):
    assert Scope().unique(function) == f"{function}_1"


LONG = "serving_default/" + "block/" * 1000


def test_a_long_name_ends_with_a_digest():
    identifier = sanitise(LONG)
    assert re.fullmatch(r"serving_default_(block_)+b?l?o?c?k?_[0-9a-f]{16}", identifier)
    assert len(identifier) == 128
    assert sanitise("x" * 128) == "x" * 128


def test_long_names_that_differ_at_their_ends_differ():
    identifiers = sanitise_all([f"{LONG}{number}" for number in range(100)], "tensor")
    assert len(set(identifiers)) == 100
    assert {len(identifier) for identifier in identifiers} == {128}


def test_a_long_name_of_bytes_that_are_no_letters():
    first, second = sanitise("\u65e5" * 1000), sanitise("\u672c" * 1000)
    assert first != second
    assert len(first) == len(second) == 128


def test_symbols_begin_with_the_prefix_of_the_model():
    scope = Scope(["tvmgen_m_run"])
    prefix = symbol_prefix("m" * 1000)
    assert len(prefix) == len("tvmgen_") + 128
    symbol = scope.symbol(prefix, "x" * 1000)
    assert symbol.startswith(f"{prefix}_xxxx")
    assert len(symbol) == len(prefix) + 1 + 128
    assert scope.symbol("tvmgen_m", "run") == "tvmgen_m_run_1"
    assert scope.symbol("tvmgen_min", "int8") == "tvmgen_min_int8_"
