"""Options of custom TFLite operators, as converters write them."""

from __future__ import annotations

from collections.abc import Mapping

from flatbuffers import flexbuffers


def flexbuffer(options: Mapping[str, object]) -> bytes:
    """A FlexBuffers map of numbers, texts and lists by name."""
    builder = flexbuffers.Builder()
    with builder.Map():
        for name, value in options.items():
            builder.Add(name, value)
    return bytes(builder.Finish())
