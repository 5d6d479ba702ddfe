"""Operators that are one block: each element by itself."""

from __future__ import annotations

from tvm import s_tir, tirx

from usmp.tir.nodes import nodes_of


def only_block(func: tirx.PrimFunc) -> s_tir.SBlock | None:
    """The block of an operator whose only one stores every element of its output once.

    None if there are several, a condition, or scratch memory.
    """
    if not isinstance(func.body, s_tir.SBlockRealize) or func.body.block.alloc_buffers:
        return None
    realized = nodes_of(func.body.block.body, s_tir.SBlockRealize)
    if len(realized) != 1 or realized[0].block.init is not None:
        return None
    block, predicate = realized[0].block, realized[0].predicate
    if not isinstance(block.body, tirx.BufferStore):
        return None
    domains = [(int(axis.dom.min), int(axis.dom.extent)) for axis in block.iter_vars]
    extents = [int(extent) for extent in block.body.buffer.shape]
    is_whole = (
        isinstance(predicate, tirx.IntImm)
        and int(predicate) == 1
        and 0 not in extents
        and domains == [(0, extent) for extent in extents]
    )
    return block if is_whole else None
