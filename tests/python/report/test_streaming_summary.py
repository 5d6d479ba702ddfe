"""What the summary says of operators that run interleaved."""

from __future__ import annotations

from usmp.report.streaming_summary import streaming_sentence, windows_sentence

POOLS = [
    {"kind": "workspace", "peak_bytes": 300},
    {"kind": "workspace", "peak_bytes": 100},
    {"kind": "constant", "peak_bytes": 5000},
]
SEGMENT = {
    "operators": ["conv2d", "conv2d_1", "add"],
    "by": "columns",
    "ring_size_bytes": 50,
    "tensor_size_bytes": 700,
    "moved_bytes": 10,
}


def metadata(segments, **streaming):
    operators = [{"functions": ["a"]}, *({"segments": [segment]} for segment in segments)]
    return {"operators": operators, "memory": {"pools": POOLS, "streaming": streaming}}


def test_nothing_where_nothing_could_be_streamed():
    assert streaming_sentence({"operators": [], "memory": {"pools": POOLS}}) is None


def test_nothing_is_smaller():
    assert streaming_sentence(metadata([], least_live_bytes=1)) == (
        "No operators run row by row: their plan would not be smaller."
    )


def test_what_runs_interleaved_and_saves():
    said = streaming_sentence(
        metadata([SEGMENT, SEGMENT], unstreamed_peak_bytes=900, least_live_bytes=350)
    )
    one = "conv2d to add (3 operators, by columns)"
    assert said == (
        f"Run interleaved: {one}, {one}; 1400 bytes of tensors between them are 100 bytes of "
        "rings; workspace 900 -> 400 bytes, and no choice of operators takes less than 350 "
        "(tir.usmp.streaming=0 runs one after the other)."
    )


def test_without_a_plan_to_compare_with():
    said = streaming_sentence(metadata([SEGMENT]))
    assert said is not None and said.endswith(
        "are 50 bytes of rings (tir.usmp.streaming=0 runs one after the other)."
    )


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
