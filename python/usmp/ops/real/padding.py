"""Padding of tensors; negative widths crop."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax, te, tirx
from tvm.ir import Expr

from usmp.ops.emit import call_operator, shape_of


def pad_with(
    builder: relax.BlockBuilder, data: Expr, widths: Sequence[tuple[int, int]], value: Expr
) -> Expr:
    """Return a tensor padded with a computed value.

    Parameters
    ----------
    widths
        elements before and after each axis; negative widths crop.
    value
        a tensor of one element.
    """
    extents = shape_of(data)
    shape = [extent + sum(pair) for extent, pair in zip(extents, widths, strict=True)]

    def compute(data: te.Tensor, value: te.Tensor) -> te.Tensor:
        def element(*at: tirx.Var) -> tirx.Expr:
            place = [i - begin for i, (begin, _) in zip(at, widths, strict=True)]
            inside = [tirx.And(p >= 0, p < e) for p, e in zip(place, extents, strict=True)]
            return tirx.if_then_else(tirx.all(*inside), data(*place), value(*[0] * value.ndim))

        return te.compute(shape, element, name="pad")

    return call_operator(builder, "pad", compute, [data, value])


def pad(
    builder: relax.BlockBuilder, data: Expr, widths: Sequence[tuple[int, int]], value: float
) -> Expr:
    """Return a tensor padded with a number.

    Parameters
    ----------
    widths
        elements before and after each axis; negative widths crop.
    """
    cut = [axis for axis, pair in enumerate(widths) if min(pair) < 0]
    if cut:
        begins = [max(-widths[axis][0], 0) for axis in cut]
        ends = [shape_of(data)[axis] + min(widths[axis][1], 0) for axis in cut]
        data = builder.emit(relax.op.strided_slice(data, cut, begins, ends))
    flat = [max(width, 0) for pair in widths for width in pair]
    return relax.op.nn.pad(data, flat, "constant", value) if any(flat) else data
