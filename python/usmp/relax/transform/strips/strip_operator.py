"""Integer operators that can be computed for some of the columns of their output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import tvm
from tvm import relax
from tvm.ir import Call, GenericConst, IRModule

from usmp.ops.emit import shape_of
from usmp.ops.form import AxisRead, Interval
from usmp.ops.macs import macs_of
from usmp.relax.axis_operators import AxisOperator, axis_operator
from usmp.relax.transform.channels.channel_operator import is_integer, is_static

ROWS, COLUMNS = 1, 2
"""Axes of an image with channels last, "NHWC"; the second is split."""


class ColumnSlice(NamedTuple):
    """A tensor that has some columns of another one, from `first` on."""

    expr: relax.Expr
    first: int


@dataclass(frozen=True, eq=False)
class StripOperator:
    """An operator that can be computed for some columns.

    Parameters
    ----------
    rows, columns
        what it reads of each image along an axis, with the image.
    macs
        multiply-accumulates of all columns.
    whole
        the operator.
    """

    rows: Sequence[tuple[tvm.ir.Var, AxisRead]]
    columns: Sequence[tuple[tvm.ir.Var, AxisRead]]
    macs: int
    whole: AxisOperator | None = None

    def emit(
        self,
        builder: relax.BlockBuilder,
        slices: Mapping[tvm.ir.Var, ColumnSlice],
        columns: Interval,
    ) -> relax.Expr:
        """Return a call that computes some columns from slices of the images."""
        assert self.whole is not None
        operands = {index: slices[var] for index, var in self.whole.operands.items()}
        tensors = {index: part.expr for index, part in operands.items()}
        given = {
            index: (part.first, part.first + shape_of(part.expr)[COLUMNS])
            for index, part in operands.items()
        }
        return self.whole.emit(builder, columns, given, tensors)


def strip_operator(mod: IRModule, value: relax.Expr) -> StripOperator | None:
    """Return the operator that a call in `main` is, if it can be computed for some columns.

    It reads and writes integer images with the channels last, and beside them constants.
    """
    if getattr(getattr(value, "op", None), "name", None) != "relax.call_tir":
        return None
    images = [a for a in value.args[1].fields if isinstance(a, tvm.ir.Var)]
    if not images or not all(map(_is_image, [value, *images])):
        return None
    rows, columns = (_along(mod, value, images, axis) for axis in (ROWS, COLUMNS))
    if rows is None or columns is None:
        return None
    macs = macs_of(columns.access.form.func) or 0
    return StripOperator(_reads(rows), _reads(columns), macs, columns)


def _is_image(expr: relax.Expr) -> bool:
    is_tensor = is_static(expr) and is_integer(expr)
    return is_tensor and len(shape_of(expr)) == 4 and shape_of(expr)[0] == 1


def _along(
    mod: IRModule, call: Call, images: Sequence[tvm.ir.Var], axis: int
) -> AxisOperator | None:
    """Return the operator along an axis, if it reads all images on the one that it writes."""
    axes = dict.fromkeys(images, axis)
    found = axis_operator(mod, call, axes, lambda expr: isinstance(expr, GenericConst), True)
    return found if found is not None and found.access.axis == axis else None


def _reads(operator: AxisOperator) -> list[tuple[tvm.ir.Var, AxisRead]]:
    reads = operator.access.reads
    return [(var, reads[index]) for index, var in operator.operands.items()]
