"""Where a plan puts a buffer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class BufferInfoKind(IntEnum):
    """Where a buffer comes from; the numbers are TVM's, state is ours."""

    INTERMEDIATE = 0
    INPUT = 1
    OUTPUT = 2
    STATE = 3


@dataclass(frozen=True)
class BufferPlace:
    """A buffer, and its bytes.

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
        its bytes in the pool.
    alignment
        bytes of which the offset had to be a multiple.
    """

    name: str
    function: str
    kind: int
    pool_name: str
    byte_offset: int
    size_bytes: int
    alignment: int
