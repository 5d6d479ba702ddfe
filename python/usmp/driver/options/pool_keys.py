"""The keys of the settings of a memory pool. This module does not import TVM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Setting:
    """One property of a pool: its value as text, and the whole argument as the user wrote it."""

    text: str
    written: str


PoolSettings: TypeAlias = Mapping[str, Setting]
"""The settings of a pool, by key (one of `KEYS`)."""

NUMBERS = {
    "clock-frequency-hz": 1,
    "read-bandwidth-bytes-per-cycle": 1,
    "write-bandwidth-bytes-per-cycle": 1,
    "read-latency-cycles": 0,
    "write-latency-cycles": 0,
}
"""Keys with a number, and its minimum; each is a field of `PoolInfoProperties`."""

BURSTS = "target-burst-bytes"
"""Key of the burst length of each target, in bytes."""

ALIGNMENT = "alignment"
"""Key of the alignment of the buffers, in bytes."""

PLACES = ("pool-offset", "address")
"""Keys with a number of bytes, from 0; each is a field of `PoolInfoProperties`."""

IO = "io"
"""Key that says whether the pool may hold inputs and outputs: "only", "no" or "any"."""

INTERNAL = "internal"
"""Key without a value: the emitted C defines the pool."""

KEYS = ("target", "size", *NUMBERS, BURSTS, "section", ALIGNMENT, *PLACES, IO, INTERNAL)
