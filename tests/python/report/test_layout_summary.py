"""What the summary says of the order of channels."""

from __future__ import annotations

import pytest

from usmp.report.layout_summary import layout_sentence


def metadata(layout, first, last):
    sizes = {"channels_first_peak_bytes": first, "channels_last_peak_bytes": last}
    return {"image_layout": {"layout": layout, **sizes}}


@pytest.mark.parametrize("said", [{}, metadata("NHWC", 1000, 1000), metadata("NHWC", 1000, 800)])
def test_nothing_where_nothing_is_lost(said):
    assert layout_sentence(said) is None


@pytest.mark.parametrize(
    ("last", "goals", "more"), [(1050, "balanced or speed", "+5.0"), (1051, "speed", "+5.1")]
)
def test_memory_that_fewer_instructions_would_take(last, goals, more):
    assert layout_sentence(metadata("NCHW", 1000, last)) == (
        f"Images keep their channels first: with channels last, tir.usmp.optimize={goals}, they "
        f"would take fewer instructions, but {last} bytes of workspace, not 1000 ({more} %)."
    )


def test_memory_that_they_take():
    assert layout_sentence(metadata("NHWC", 1000, 1040)) == (
        "Images have their channels last, for fewer instructions; with channels first the "
        "workspace would take 1000 bytes, not 1040."
    )
