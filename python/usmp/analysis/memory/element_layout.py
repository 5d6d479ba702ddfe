"""Where is an element in the memory of its buffer?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import tvm
import tvm_ffi
from tvm import tirx

from usmp.analysis.memory.access import item_bytes
from usmp.analysis.memory.memories import Term


@dataclass(frozen=True)
class ElementLayout:
    """Where elements of a buffer are in its memory.

    Parameters
    ----------
    units
        bytes from one element to the next, by axis.
    offset
        of the first element; None for none.
    """

    units: tuple[int, ...]
    offset: Term | None

    def terms(self, indices: Sequence[tirx.Expr]) -> tuple[Term, ...] | None:
        """Where an element is; None if that is not known."""
        if len(indices) != len(self.units):
            return None
        terms = tuple(map(Term, indices, self.units))
        return terms if self.offset is None else (*terms, self.offset)


def element_layout(buffer: tirx.Var) -> ElementLayout | None:
    """The layout of a buffer; None if it is not known."""
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
    """Whether elements of a buffer without strides lie as its shape says."""
    if len(buffer.shape) <= 1:
        return True
    layout = buffer.ty.layout
    if layout is None:
        return True
    plain = tirx.decl_buffer(buffer.shape, buffer.dtype).ty.layout
    return bool(tvm_ffi.structural_equal(layout, plain))
