"""Distances of buffers that are named."""

import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis import safe_overlap


def distance(func, dying, written, mod=None):
    """The distance of two parameters or allocations, by name."""
    mod = mod or IRModule({"main": func})
    buffers = {str(param.name): param for param in func.params}
    for other in mod.functions.values():
        found = []
        tvm_ffi.structural_walk(other.body, (tirx.AllocBuffer, found.append))
        buffers |= {str(stmt.buffer.name): stmt.buffer for stmt in found}
    return safe_overlap(func, mod).distance(buffers[dying], buffers[written])
