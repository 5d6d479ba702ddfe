"""What the summary says of code that operators share."""

from __future__ import annotations

from usmp.report.summary.code import code_sentence


def test_fast_code():
    assert code_sentence({}) is None


def test_functions_that_are_shared():
    merged = {"conv2d_shared": ["conv2d", "conv2d1", "conv2d2"], "add_shared": ["add", "add1"]}
    assert code_sentence({"merged_functions": merged}) == (
        "Operators that differ in integers only share code (tir.usmp.code): 5 functions of "
        "operators became 2."
    )


def test_nothing_to_share():
    assert code_sentence({"merged_functions": {}}) == (
        "Operators that differ in integers only share code (tir.usmp.code): nothing is similar."
    )
