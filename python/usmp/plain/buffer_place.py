"""The place of a buffer in a plan."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class BufferInfoKind(IntEnum):
    """The origin of a buffer; the numbers are TVM's, except for STATE."""

    INTERMEDIATE = 0
    INPUT = 1
    OUTPUT = 2
    STATE = 3


@dataclass(frozen=True)
class BufferPlace:
    """A buffer and its place in a pool.

    Parameters
    ----------
    name
        the buffer's name, unique in the plan.
    function
        name of the PrimFunc that allocates it.
    kind
        a `BufferInfoKind`.
    pool_name
        the pool that holds it.
    byte_offset, size_bytes
        offset in the pool, and size, in bytes.
    alignment
        required alignment of the offset, in bytes.
    """

    name: str
    function: str
    kind: int
    pool_name: str
    byte_offset: int
    size_bytes: int
    alignment: int
