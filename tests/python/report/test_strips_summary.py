"""What the summary says of operators in strips."""

from __future__ import annotations

from typing import Any

from usmp.report.strips_summary import strips_sentences

FIRST = {"operators": ["conv2d", "conv2d_1", "add"], "strips": 2, "macs_before": 90, "macs": 95}
SECOND = {"operators": ["max_pool"], "strips": 3, "macs_before": 0, "macs": 0}


def metadata(chains: list[dict[str, Any]], choices: list[dict[str, Any]], **said: float) -> Any:
    strips = {"max_extra_macs": 12.5, "chains": chains, "choices": choices, **said}
    return {"memory": {"strips": strips}}


def choice(chains: list[dict[str, Any]], macs: int, *peak: int) -> dict[str, Any]:
    return {"chains": chains, "macs": macs, **({"peak_bytes": peak[0]} if peak else {})}


def test_nothing_where_nothing_was_planned():
    assert strips_sentences({"memory": {}}) == []


def test_what_is_in_strips_and_what_others_would_give():
    taken = choice([FIRST, SECOND], 105, 300)
    others = [choice([FIRST], 104, 350), choice([SECOND], 100)]
    said = metadata(
        taken["chains"],
        [taken, *others],
        unsplit_peak_bytes=400,
        peak_bytes=300,
        macs_before=100,
        macs=105,
    )
    assert strips_sentences(said) == [
        "In strips: conv2d to add (3 operators) in 2, max_pool (1 operator) in 3; workspace 400 -> "
        "300 bytes, MACs 100 -> 105 (+5.0 %; tir.usmp.max_extra_macs=12.5%).",
        "Other strips that were planned: conv2d to add (3 operators) in 2: 350 bytes, +4.0 % MACs; "
        "max_pool (1 operator) in 3: no plan fits, +0.0 % MACs.",
    ]


def test_strips_that_save_nothing():
    said = metadata(
        [],
        [choice([SECOND], 0, 500)],
        unsplit_peak_bytes=400,
        peak_bytes=400,
        macs_before=0,
        macs=0,
    )
    assert strips_sentences(said) == [
        "No operators are in strips: their plan would not be smaller "
        "(tir.usmp.max_extra_macs=12.5%).",
        "Strips that were planned: max_pool (1 operator) in 3: 500 bytes, +0.0 % MACs.",
    ]
