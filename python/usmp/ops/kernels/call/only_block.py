"""Operators that are a single block, which computes each output element by itself."""

from __future__ import annotations

from tvm import s_tir, tirx

from usmp.ops.form import form_of


def only_block(func: tirx.PrimFunc) -> s_tir.SBlock | None:
    """Return the block of an operator that is one block and stores each output element once.

    None if there are several blocks, a predicate, a reduction, scratch memory, or no element.
    """
    form = form_of(func)
    if form is None or len(form.nests) != 1:
        return None
    (nest,) = form.nests
    extents = [int(extent) for extent in nest.buffer.shape]
    is_whole = [*nest.extents.values()] == extents and 0 not in extents
    return nest.block if is_whole and nest.block.init is None else None
