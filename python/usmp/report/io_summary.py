"""What the summary says of the pools that inputs and outputs may lie in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from usmp.support.plain_text import shown

IO_TEXTS = {"only": "inputs and outputs only", "no": "no inputs and outputs"}
"""What may lie in a pool, by the value of its `io` that is not "any"."""


def io_sentences(memory: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the user said of the pools of inputs and outputs; nothing by default.

    Parameters
    ----------
    memory
        of the metadata of one module of an archive.
    """
    if "io_pool" in memory:
        yield f"All inputs and outputs lie in {shown(memory['io_pool'])}, the I/O pool."
    for value, text in IO_TEXTS.items():
        pools = [shown(pool["name"]) for pool in memory["pools"] if pool.get("io") == value]
        if pools:
            yield f"Of {' and '.join(pools)}: {text} (io={value})."
