"""TFLite files changed through the objects of their tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flatbuffers

from support.lazy import lazy

schema = lazy("ai_edge_litert.schema_py_generated")


def with_schema(content: bytes, change: Callable[[Any], object]) -> bytes:
    """The file after `change` of its model, a `schema.ModelT`."""
    model = schema.ModelT.InitFromPackedBuf(content, 0)
    change(model)
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())
