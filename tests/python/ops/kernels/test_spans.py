"""Which outputs of a window need no guard."""

from __future__ import annotations

import pytest

from ops.kernels.test_conv2d import WINDOWS
from usmp.ops.kernels.spans import Span, inner_span


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [
        ("same", Span(1, 3), Span(1, 4)),
        ("valid", Span(0, 3), Span(0, 4)),
        ("stride", Span(1, 2), Span(1, 3)),
        ("padding on the right only", Span(0, 1), Span(0, 1)),
        ("larger than the data", Span(2, 2), Span(2, 2)),
        ("beside the data", Span(2, 2), Span(2, 2)),
        ("dilation", Span(1, 5), Span(2, 5)),
        ("one column", Span(1, 2), Span(0, 1)),
    ],
)
def test_rows_and_columns_without_a_guard(name, rows, columns):
    window = WINDOWS[name]
    assert (inner_span(window, 0), inner_span(window, 1)) == (rows, columns)
