"""Why buffers share no more bytes and what forces a peak, in sentences."""

from __future__ import annotations

import pytest

from usmp.report.explanation.sentences import bound_sentence, pair_sentence

MODULE = {
    "operators": [
        {"entry": "main", "functions": [f"f{n}"], "steps": [{"kind": f"op{n}"}]} for n in range(2)
    ],
    "memory": {"functions": {"main": [{}]}},
}
ORDER = {
    "kind": "order of accesses",
    "functions": ["f1"],
    "written_end": 16,
    "first_accessed": 4,
    "is_write": False,
}


def pair(kind="distance", because=None, **known):
    return {
        "kind": kind,
        "dying": "x",
        "written": "y",
        "dying_kind": "intermediate",
        "written_kind": "intermediate",
        "dying_size_bytes": 40,
        "distance_bytes": 12,
        "size_bytes": 20,
        "shared_bytes": 8,
        "alignment_bytes": 4,
        "at_largest_sizes": False,
        "dying_row_bytes": None,
        "written_row_bytes": None,
        "because": {**ORDER, **(because or {})},
        **known,
    }


def because(at=None, pair_facts=None, **changes):
    sentence = pair_sentence(MODULE, pair(because=changes, **(pair_facts or {})), at)
    return sentence.removeprefix("x and y: ").split("; at a distance")[0]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("no common operator", "no operator accesses both"),
        ("overlap is off", "overlap is off"),
        ("entries that run at once", "they belong to entries of which each may interrupt"),
        ("not known", "the analysis does not say why"),
    ],
)
def test_each_kind_of_reason_has_its_sentence(kind, reason):
    sentence = pair_sentence(MODULE, pair(kind, None), None)
    assert sentence.startswith(f"x and y: {reason}") and sentence.endswith(".")


@pytest.mark.parametrize(
    ("kinds", "reason"),
    [
        (("state", "intermediate"), "x is kept between runs"),
        (("output", "state"), "y is kept between runs"),
        (("state", "state"), "x and y are kept between runs"),
        (("output", "output"), "both are outputs"),
        (("input", "input"), "both are inputs"),
        (("input", "output"), "x (input) and y (output) have their content before the run"),
    ],
)
def test_what_is_kept_is_said_by_kind(kinds, reason):
    known = {"dying_kind": kinds[0], "written_kind": kinds[1]}
    assert pair_sentence(MODULE, pair("kept", **known), None).startswith(f"x and y: {reason}")


@pytest.mark.parametrize(
    ("known", "result"),
    [
        ({"distance_bytes": 20}, "they can share no byte"),
        ({"distance_bytes": 21}, "they can share no byte"),
        ({}, "at a distance of 12 bytes they can share 8, and share 8"),
        (
            {"shared_bytes": 5},
            "at a distance of 12 bytes they can share 8, and share 5 (offsets are multiples of 4)",
        ),
        ({"shared_bytes": 4}, "at a distance of 12 bytes they can share 8, and share 4"),
        (
            {"shared_bytes": 7},
            "at a distance of 12 bytes they can share 8, and share 7 (offsets are multiples of 4)",
        ),
        # Never more than the other buffer has.
        (
            {"dying_size_bytes": 6, "shared_bytes": 6},
            "at a distance of 12 bytes they can share 6, and share 6",
        ),
    ],
)
def test_a_distance_says_what_can_be_shared(known, result):
    assert pair_sentence(MODULE, pair(**known), None).endswith(f"; {result}.")


def test_largest_sizes_are_said():
    assert " (at the largest sizes); " in pair_sentence(MODULE, pair(at_largest_sizes=True), None)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "op1 reads byte 4 of x after it has written byte 15 of y"),
        ({"is_write": True}, "op1 writes byte 4 of x again after it has written byte 15 of y"),
        ({"first_accessed": None}, "op1 reads a part of x after it has written byte 15 of y"),
        ({"written_end": None}, "op1 reads byte 4 of x after it has written a part of y"),
        ({"written_end": 0}, "op1 reads byte 4 of x after it has written byte 0 of y"),
        ({"kind": "later access"}, "x is still read after op1 has written byte 15 of y"),
        (
            {"kind": "later access", "is_write": True},
            "x is still written again after op1 has written byte 15 of y",
        ),
        (
            {"kind": "later access", "functions": []},
            "x is still read after an earlier operator has written byte 15 of y",
        ),
        (
            {"kind": "stated by kernel"},
            "op1 is an external kernel, which states no smaller distance",
        ),
        ({"kind": "unknown address"}, "which bytes op1 accesses is not known before the run"),
        (
            {"kind": "too many accesses"},
            "op1 has more accesses, or deeper calls, than are compared",
        ),
        ({"kind": "other"}, "the analysis does not say why"),
    ],
)
def test_the_access_that_decides_is_said(changes, expected):
    assert because(**changes) == expected


@pytest.mark.parametrize(
    ("functions", "at", "where"),
    [
        (["f1"], 1, "the operator"),
        (["f1"], 0, "op1"),
        (["f0"], 0, "the operator"),
        (["f0", "f1"], 1, "op0"),
        (["f7"], 1, "f7"),
        (["f7", "f8"], 1, "f7"),
        ([], 1, "the program"),
    ],
)
def test_the_operator_at_the_peak_needs_no_name(functions, at, where):
    expected = f"which bytes {where} accesses is not known before the run"
    assert because(at, kind="unknown address", functions=functions) == expected


def test_bytes_of_rows_are_said_with_their_rows():
    facts = {"dying_row_bytes": 4, "written_row_bytes": 8}
    expected = "op1 reads byte 9 (row 2) of x after it has written byte 15 (row 1) of y"
    assert because(pair_facts=facts, first_accessed=9) == expected
    still = because(pair_facts=facts, kind="later access", written_end=17)
    assert still == "x is still read after op1 has written byte 16 (row 2) of y"


def bound(forcing=None, peak=100, lower=100, optimal=True):
    pool = {"peak_bytes": peak, "lower_bound_bytes": lower, "optimal": optimal}
    return bound_sentence(pool if forcing is None else {**pool, "forced_by": forcing})


def test_what_is_proved_of_a_peak_is_said():
    assert bound() == "Proved: no plan of these buffers has a peak below 100 bytes."
    same = bound(optimal=False)
    assert same.startswith("No plan that puts the same buffers here has a peak below 100 bytes")
    lower = bound(lower=90, optimal=False)
    assert lower == "Not proved: the peak is 100 bytes, and none below 90 bytes is possible."
    assert bound(None) == bound()


@pytest.mark.parametrize(
    ("count", "listed"),
    [
        (1, "b0 alone needs as much."),
        (2, "b0 and b1 are live at one time"),
        (8, "b0, b1, b2, b3, b4, b5, b6 and b7 are"),
        (9, "b0, b1, b2, b3, b4, b5, b6 and 2 others are"),
        (12, "b0, b1, b2, b3, b4, b5, b6 and 5 others are"),
    ],
)
def test_buffers_that_force_a_peak_are_named(count, listed):
    forcing = {"kind": "live at one time", "buffers": [f"b{n}" for n in range(count)]}
    assert bound(forcing).split("bytes: ")[1].startswith(listed)


def test_bytes_behind_states_and_the_kind_are_said():
    names = {"buffers": ["a", "b"]}
    forcing = {"kind": "search", "bytes_behind_states": 12, **names}
    assert "a and b (with 12 bytes behind states, for new rows) need as much" in bound(forcing)
    forcing = {"kind": "live at several times", "bytes_behind_states": 0, **names}
    assert "a and b need as much: which of them are live together" in bound(forcing)
    assert "behind" not in bound({"kind": "search", **names})
