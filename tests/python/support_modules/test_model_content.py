"""Formats of models by their content."""

from __future__ import annotations

import pytest

from usmp.support.model_content import format_of_content


@pytest.mark.parametrize(
    ("content", "ending"),
    [
        (b"\x1c\0\0\0TFL3", ".tflite"),
        (b"PK\x03\x04...", ".pt2"),
        (b"\x08\x0a\x12\x07pytorch", ".onnx"),
        (b"\x08\0\0\0", ""),
        (b"\x08", ""),
        (b"words", ""),
        (b"", ""),
    ],
)
def test_formats_begin_differently(content, ending):
    assert format_of_content(content) == ending
