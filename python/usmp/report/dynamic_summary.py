"""What the summary says of buffers that runs allocate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from usmp.names import ARENA
from usmp.support.plain_text import shown

_SHOWN_BUFFERS = 6


def dynamic_sentences(metadata: Mapping[str, Any]) -> list[str]:
    """Which buffers have no place in the plan, why, and where they are instead; none if all have.

    Parameters
    ----------
    metadata
        of one module of an archive.
    """
    said = metadata["memory"].get("dynamic_allocations")
    if said is None:
        return []
    buffers = said["buffers"]
    several = len(buffers) > 1
    count = f"{len(buffers)} buffers are" if several else "1 buffer is"
    where = f"by {shown(said['allocator'])} of TVM's runtime"
    if said["allocator"] == ARENA:
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
