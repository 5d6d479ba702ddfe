"""What the summary says of windows."""

from __future__ import annotations

from usmp.report.summary.streaming import windows_sentence


def test_windows():
    said = {
        "inputs": {"image": {"rows": 2, "window_rows": 8}},
        "state_size_bytes": 688,
        "window_macs": 399488,
        "macs": 376448,
        "whole": ["depthwise_conv2d", "add"],
    }
    text = (
        'Each run takes 2 of the 8 rows of input "image", and keeps 688 bytes of windows as state: '
        "399488 -> 376448 MACs"
    )
    ending = "; depthwise_conv2d, add and what follows take whole windows."
    assert windows_sentence({"windows": said}) == text + ending
    assert windows_sentence({"windows": {**said, "whole": []}}) == f"{text}."
    assert windows_sentence({}) is None
