"""Expressions of sizes: what is passed on, and what is refused."""

from __future__ import annotations

import pytest

from support.lazy import lazy
from usmp.support.errors import UnsupportedModelError

expression = lazy("usmp.frontend.pytorch.pt2.expressions:expression")

S0 = "Symbol('s0', positive=True, integer=True)"


@pytest.mark.parametrize(
    ("written", "passed"),
    [
        ("s0", "s0"),
        ("2*s0 + 1", "2 * s0 + 1"),
        (S0, S0),
        (f"Mul(Integer(2), {S0})", f"Mul(Integer(2), {S0})"),
        (f"FloorDiv({S0}, Integer(-2))", f"FloorDiv({S0}, Integer(-2))"),
        (f"Pow({S0}, Integer(2))", f"Pow({S0}, Integer(2))"),
        (f"Equality({S0}, Integer(1))", f"Equality({S0}, Integer(1))"),
        ("Max(1, u0) > 4", "Max(1, u0) > 4"),
        ("s0 // 2 - (s1 % 3)", "s0 // 2 - s1 % 3"),
        ("s0  # comment", "s0"),
    ],
)
def test_expressions_are_written_anew(written, passed):
    assert expression(written, "size") == passed


@pytest.mark.parametrize(
    "written",
    [
        "x",
        "os",
        "exit()",
        "__import__('os').system('id')",
        "s0.__class__",
        "Max(1, __import__('os'))",
        "Symbol('s0', cls=1)",
        "Symbol('x')",
        "Symbol('s0', integer=s0)",
        "Integer('1')",
        "Integer(Integer(1))",
        "'s0'",
        "1.5",
        "(lambda: 1)()",
        "[s0][0]",
        "f'{s0}'",
        "s0 if s0 else 1",
        "(s0 := 1)",
        "*s0",
        "Max(*[1])",
        "Max(x=1)",
        "9 ** 9 ** 9",
        "1 << 99",
        "Pow(10, 10)",
        "Pow(Pow(s0, 4), 4)",
        "Pow(s0, s1)",
        "s123456",
        str(2**63),
        f"Integer({2**63})",
        "(" * 300 + "s0" + ")" * 300,
        "s0 +" * 600 + "s0",
        "s0\0",
        "",
        7,
        None,
    ],
)
def test_what_is_no_size_is_refused(written):
    with pytest.raises(UnsupportedModelError, match="not an expression of sizes"):
        expression(written, "size")


@pytest.mark.parametrize(
    "written",
    [
        "FloorDiv(Pow(s0 + s1 + s2, 4) * Pow(s1 + s2 + s3, 4), s0 + s4)",
        "Mod(s0, (s0 + s1 + s2 + 1) * (s0 + s1 + s2 + 2) * (s0 + s1 + s2 + 3) * (s0 + s1))",
        "Max(" + "s0, " * 100 + "s1)",
    ],
)
def test_what_takes_hours_to_simplify_is_refused(written):
    with pytest.raises(UnsupportedModelError, match="which has more than 100 terms written out"):
        expression(written, "size")
