"""The sentences of the summary about pools for inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from usmp.support.text.plain_text import shown

IO_TEXTS = {"only": "inputs and outputs only", "no": "no inputs and outputs"}
"""Descriptions of the values of `io`, except "any"."""


def io_sentences(memory: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences about the user's restrictions on inputs and outputs; none by default.

    Parameters
    ----------
    memory
        value of "memory" in the metadata of one module of an archive.
    """
    if "io_pool" in memory:
        yield f"All inputs and outputs lie in {shown(memory['io_pool'])}, the I/O pool."
    for value, text in IO_TEXTS.items():
        pools = [shown(pool["name"]) for pool in memory["pools"] if pool.get("io") == value]
        if pools:
            yield f"Of {' and '.join(pools)}: {text} (io={value})."
