"""Tensors that lie in another one without gaps: slices, parts of a split, inputs of a concat."""

from __future__ import annotations

from itertools import accumulate
from math import prod

import tvm
from tvm import relax
from tvm.ir import Call

from usmp.relax.static_shapes import has_static_shape

MOVES = ("relax.concat", "relax.split", "relax.strided_slice")
"""Operators that only copy parts of tensors."""


def part_offsets(call: Call) -> list[int] | None:
    """Where the parts begin, in elements: the results of a split or slice in the argument, or the
    inputs of a concat in the result. None if a part would have gaps, or is empty.

    Parameters
    ----------
    call
        of one of `MOVES`.
    """
    name = call.op.name
    if name == "relax.concat":
        whole, parts = call.ty, list(call.args[0].ty.fields)
    else:
        whole = call.args[0].ty
        parts = list(call.ty.fields) if isinstance(call.ty, tvm.ir.TupleType) else [call.ty]
    if not all(_has_elements(ty) for ty in (whole, *parts)):
        return None
    if name == "relax.strided_slice":
        offset = _slice_offset(call)
        return None if offset is None else [offset]
    axis = 0 if call.attrs.axis is None else int(call.attrs.axis)
    shape = _shape(whole)
    axis += len(shape) if axis < 0 else 0
    if prod(shape[:axis]) != 1:
        return None
    sizes = [prod(_shape(part)) for part in parts]
    return [0, *accumulate(sizes[:-1])]


def _has_elements(ty: tvm.ir.Type) -> bool:
    return isinstance(ty, relax.TensorType) and has_static_shape(ty) and prod(_shape(ty)) > 0


def _shape(ty: relax.TensorType) -> list[int]:
    return [int(extent) for extent in ty.shape]


def _slice_offset(call: Call) -> int | None:
    """One element of the first axes, a range of the next, all of the others."""
    whole, part = _shape(call.args[0].ty), _shape(call.ty)
    if not all(isinstance(argument, relax.Tuple) for argument in call.args[1:]):
        return None
    axes, begins = ([int(value) for value in call.args[i]] for i in (1, 2))
    strides = [int(value) for value in call.args[4]] if len(call.args) > 4 else [1] * len(axes)
    first = [0] * len(whole)
    for axis, begin, stride in zip(axes, begins, strides, strict=True):
        axis += len(whole) if axis < 0 else 0
        if stride != 1 and part[axis] != 1:
            return None
        begin += whole[axis] if begin < 0 else 0
        # The last valid begin is also what one beyond the axis stands for with a negative stride.
        first[axis] = min(max(begin, 0), whole[axis] - 1)
    cut = next((axis for axis, extent in enumerate(part) if extent != 1), len(part))
    if any(part[axis] != whole[axis] for axis in range(cut + 1, len(part))):
        return None
    return sum(begin * prod(whole[axis + 1 :]) for axis, begin in enumerate(first))
