"""What is said of symbolic sizes: by the summary, and by a compiled model."""

from __future__ import annotations

from support.symbolic_models import build_symbolic, build_two_sizes


def test_summary():
    assert "\nSizes: seq 1 to 16; planned at the largest.\n" in build_symbolic().summary()


def test_summary_of_entries():
    assert (
        "\nSizes: outer: rows 1 to 5, columns 1 to 7; total: rows 1 to 9; planned at the largest.\n"
    ) in build_two_sizes().summary()


def test_representation():
    assert repr(build_symbolic()).endswith(
        "  x float32[1, seq, 4] -> y float32[1, (seq - 1) // 2 + 1, 4]"
    )
