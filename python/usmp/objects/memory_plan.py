"""The finished plan as plain data: what reports and metadata read from a planned module."""

from __future__ import annotations

import tvm_ffi
from tvm_ffi.dataclasses import py_class

from usmp.objects.buffers import LiveRange


@py_class("usmp.PlacedBuffer")
class PlacedBuffer(tvm_ffi.Object):
    """A buffer at its place.

    Parameters
    ----------
    name: the buffer's name, unique in the plan.
    function: name of the PrimFunc that allocates it.
    kind: a `BufferInfoKind`.
    pool_name: the pool that holds it.
    byte_offset, size_bytes: its bytes in the pool.
    alignment: bytes of which the offset had to be a multiple.
    live_ranges: half-open ranges of program positions in which its content matters.
    identical: names of other constants with the same content, which lie in the same bytes.
    """

    name: str
    function: str
    kind: int
    pool_name: str
    byte_offset: int
    size_bytes: int
    alignment: int
    live_ranges: list[LiveRange]
    identical: list[str]


@py_class("usmp.MemoryPlan")
class MemoryPlan(tvm_ffi.Object):
    """The places of all buffers of a module.

    Parameters
    ----------
    algorithm: name of the algorithm that made the plan.
    memory_pressure: largest number of workspace bytes live at once, over all pools.
    buffers: every planned buffer, in program order; of identical constants the first.
    """

    algorithm: str
    memory_pressure: int
    buffers: list[PlacedBuffer]
