"""The format of a model file by its content, for messages about files with another name."""

from __future__ import annotations

_ZIP = b"PK\x03\x04"
_ONNX_TAG, _LARGEST_ONNX_VERSION = 8, 31
"""Protobuf's tag of the version, with which an ONNX model begins, and a bound of the version."""


def format_of_content(content: bytes) -> str:
    """Return the ending of the model format that the first bytes look like, such as ".onnx"; empty
    if they look like none."""
    if content[4:8] == b"TFL3":
        return ".tflite"
    if content.startswith(_ZIP):
        return ".pt2"
    is_onnx = len(content) > 1 and content[0] == _ONNX_TAG
    return ".onnx" if is_onnx and 0 < content[1] <= _LARGEST_ONNX_VERSION else ""
