"""Counts in reports."""

from __future__ import annotations

import pytest

from usmp.report.counts import shown_ratio


@pytest.mark.parametrize(
    ("peak", "bound", "text"),
    [(0, 0, "-"), (3, 3, "1.000"), (27120, 27112, "1.001"), (3, 2, "1.500"), (4, 3, "1.334")],
)
def test_only_a_peak_at_its_bound_has_the_ratio_1(peak, bound, text):
    assert shown_ratio(peak, bound) == text
