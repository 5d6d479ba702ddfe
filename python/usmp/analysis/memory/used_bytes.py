"""The bytes of a parameter's memory that a PrimFunc uses."""

from __future__ import annotations

from tvm import tirx

from usmp.analysis.memory.buffer_size import has_static_size, size_bytes
from usmp.analysis.memory.function_liveness import FunctionLiveness
from usmp.analysis.memory.memories import Memory
from usmp.analysis.memory.points_to import PointsTo


def used_bytes(memory: Memory, points: PointsTo, liveness: FunctionLiveness) -> int | None:
    """Return the bytes from the start of a memory to the end of all buffers declared in it.

    Buffers are not accessed beyond their end. The result is None if an address in the memory
    escapes or is passed to a call, or if an offset or the size of a buffer is unknown.
    """
    if memory in liveness.escaping:
        return None
    end = 0
    for var, addresses in points.addresses.items():
        if memory not in points.memories_behind[var]:
            continue
        (address, *others) = addresses
        if others or address.byte_offset is None or var in liveness.passed:
            return None
        if tirx.is_buffer_var(var):
            if not has_static_size(var):
                return None
            end = max(end, address.byte_offset + size_bytes(var))
    return end
