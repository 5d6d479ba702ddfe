"""The sentences of the summary about buffers that are allocated at run time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from usmp.names import ARENA
from usmp.support.text.plain_text import shown

_SHOWN_BUFFERS = 6


def dynamic_sentences(metadata: Mapping[str, Any]) -> list[str]:
    """Return sentences about the unplanned buffers, the reasons, and where runs allocate them.

    Parameters
    ----------
    metadata
        metadata of one module of an archive.
    """
    allocations = metadata["memory"].get("dynamic_allocations")
    if allocations is None:
        return []
    buffers = allocations["buffers"]
    several = len(buffers) > 1
    count = f"{len(buffers)} buffers are" if several else "1 buffer is"
    where = f"by {shown(allocations['allocator'])} of TVM's runtime"
    if allocations["allocator"] == ARENA:
        where = "in an arena that the application gives, in RAM beside the workspace"
    lines = [
        f"{count} not planned, because {'their sizes have' if several else 'its size has'} no "
        f"bound; runs allocate {'them' if several else 'it'} {where}:"
    ]
    lines += [
        f"  {shown(buffer['name'])} of {shown(buffer['function'])}, {shown(buffer['size'])} bytes: "
        f"{shown(buffer['why'])}"
        for buffer in buffers[:_SHOWN_BUFFERS]
    ]
    if len(buffers) > _SHOWN_BUFFERS:
        lines.append(f"  and {len(buffers) - _SHOWN_BUFFERS} more (metadata.json lists all)")
    return lines
