"""What can be said about one memory pool: the keys, without TVM, which their values need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Setting:
    """One property of a pool: its value as text, and how the user wrote the whole of it."""

    text: str
    written: str


PoolSettings: TypeAlias = Mapping[str, Setting]
"""A pool's settings by key, one of `KEYS`."""

NUMBERS = {
    "clock-frequency-hz": 1,
    "read-bandwidth-bytes-per-cycle": 1,
    "write-bandwidth-bytes-per-cycle": 1,
    "read-latency-cycles": 0,
    "write-latency-cycles": 0,
}
"""Keys whose value is a number, and the smallest; `PoolInfoProperties` has a field for each."""

BURSTS = "target-burst-bytes"
"""The key whose value has a number for each target."""

ALIGNMENT = "alignment"
"""The key whose value is a number of bytes of which addresses are multiples."""

PLACES = ("pool-offset", "address")
"""Keys whose value is a number of bytes, also 0; `PoolInfoProperties` has a field for each."""

IO = "io"
"""The key that says whether the pool holds inputs and outputs."""

INTERNAL = "internal"
"""The key that has no value."""

KEYS = ("target", "size", *NUMBERS, BURSTS, "section", ALIGNMENT, *PLACES, IO, INTERNAL)
"""All keys."""
