"""The layout of a buffer: byte offsets of its elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import tvm
import tvm_ffi
from tvm import tirx

from usmp.analysis.memory.memories import Term
from usmp.tir.dtypes import item_bytes


@dataclass(frozen=True)
class ElementLayout:
    """The layout of a buffer in its memory.

    Parameters
    ----------
    units
        strides in bytes, by axis.
    offset
        offset of the first element; None for zero.
    """

    units: tuple[int, ...]
    offset: Term | None

    def terms(self, indices: Sequence[tirx.Expr]) -> tuple[Term, ...] | None:
        """Return the byte offset of an element, as terms; None if it is unknown."""
        if len(indices) != len(self.units):
            return None
        terms = tuple(map(Term, indices, self.units))
        return terms if self.offset is None else (*terms, self.offset)


def element_layout(buffer: tirx.Var) -> ElementLayout | None:
    """Return the layout of a buffer; None if it is unknown."""
    dtype, extents, steps = str(buffer.dtype), buffer.shape[:], buffer.strides[:]
    size = item_bytes(dtype)
    shape = [int(extent) for extent in extents if isinstance(extent, tirx.IntImm)]
    if (dtype != "bool" and tvm.DataType(dtype).bits % 8) or len(shape) < len(extents):
        return None
    if steps:
        strides = [int(step) for step in steps if isinstance(step, tirx.IntImm)]
    else:
        strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    offset = buffer.elem_offset
    if len(strides) < len(shape) or (not steps and not _is_row_major(buffer)):
        return None
    units = tuple(stride * size for stride in strides)
    return ElementLayout(units, None if offset is None else Term(offset, size))


def _is_row_major(buffer: tirx.Var) -> bool:
    """Return whether a buffer without strides is in row-major order."""
    if len(buffer.shape) <= 1:
        return True
    layout = buffer.ty.layout
    if layout is None:
        return True
    plain = tirx.decl_buffer(buffer.shape, buffer.dtype).ty.layout
    return bool(tvm_ffi.structural_equal(layout, plain))
