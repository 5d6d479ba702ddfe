"""What `tvmc check` says of the options that it tried."""

from __future__ import annotations

from dataclasses import replace

from usmp.report.fitting import Fitting
from usmp.report.verdicts import Need

CLOSEST = Fitting(
    "--a",
    "does a",
    "",
    "tvmc compile x --a",
    Need({"workspace": 12}, 10),
    Need({}, None),
    tried=["--a", "--b", "--a --b"],
    pairs=1,
    seconds=60,
)


def test_all_options_are_named_if_none_is_enough():
    extent = "Tried: --a, --b, --a --b (2 options and 1 pair), in at most 60 s."
    closest = "Nothing that was tried fits; closest is --a: RAM 12 bytes, 2 too many."
    assert list(CLOSEST.sentences()) == [closest, f"Does a. {extent}"]
    none = replace(CLOSEST, flags="")
    assert list(none.sentences()) == [f"Nothing that was tried needs less. {extent}"]
    nothing = replace(none, tried=[], pairs=0, is_complete=False)
    assert list(nothing.sentences()) == [
        "Nothing that was tried needs less. Tried: nothing, in at most 60 s, which ended before "
        "all were tried."
    ]


def test_options_are_counted_if_one_is_enough():
    enough = replace(CLOSEST, ram=Need({"workspace": 8}, 10))
    assert list(enough.sentences()) == [
        "It fits with --a: RAM 8 bytes, 2 below the limit.",
        "Does a. Tried: 2 options and 1 pair, in at most 60 s.",
    ]
