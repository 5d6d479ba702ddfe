"""Integer operators that can compute some columns of their output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import tvm
from tvm import relax
from tvm.ir import Call, GenericConst, IRModule

from usmp.ops.emit import shape_of
from usmp.ops.form import AxisRead, Interval
from usmp.ops.macs import macs_of
from usmp.relax.axis_operators import AxisOperator, axis_operator
from usmp.relax.transform.channels.channel_operator import is_integer, is_static
from usmp.tir.op_names import op_name

ROWS, COLUMNS = 1, 2
"""Axes of an NHWC image; columns are split."""


class ColumnSlice(NamedTuple):
    """A tensor that holds some columns of another one, from column `first` on."""

    expr: relax.Expr
    first: int


@dataclass(frozen=True, eq=False)
class StripOperator:
    """An operator that can compute some columns of its output.

    Parameters
    ----------
    rows, columns
        each image operand, with the indices that are read along the axis.
    macs
        multiply-accumulates for all columns.
    whole
        the operator along the axis of columns.
    """

    rows: Sequence[tuple[tvm.ir.Var, AxisRead]]
    columns: Sequence[tuple[tvm.ir.Var, AxisRead]]
    macs: int
    whole: AxisOperator | None = None

    def with_variables(self, known: Mapping[tvm.ir.Var, tvm.ir.Var]) -> StripOperator:
        """Return the operator with other Python objects for its operands.

        Parameters
        ----------
        known
            the object for each variable.
        """
        rows, columns = (
            [(known[var], read) for var, read in reads] for reads in (self.rows, self.columns)
        )
        return replace(self, rows=rows, columns=columns)

    def emit(
        self,
        builder: relax.BlockBuilder,
        slices: Mapping[tvm.ir.Var, ColumnSlice],
        columns: Interval,
    ) -> relax.Expr:
        """Emit a call that computes some columns from slices of the images."""
        assert self.whole is not None
        operands = {index: slices[var] for index, var in self.whole.operands.items()}
        tensors = {index: part.expr for index, part in operands.items()}
        available = {
            index: (part.first, part.first + shape_of(part.expr)[COLUMNS])
            for index, part in operands.items()
        }
        return self.whole.emit(builder, columns, available, tensors)


def strip_operator(mod: IRModule, value: relax.Expr) -> StripOperator | None:
    """Return the operator of a call in `main`, if it can compute some columns.

    It must read and write NHWC images of integers; other operands must be constants.
    """
    if op_name(value) != "relax.call_tir":
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
    """Return the operator along an axis, if it reads and writes images along this axis."""
    axes = dict.fromkeys(images, axis)
    operator = axis_operator(mod, call, axes, lambda expr: isinstance(expr, GenericConst), True)
    return operator if operator is not None and operator.access.axis == axis else None


def _reads(operator: AxisOperator) -> list[tuple[tvm.ir.Var, AxisRead]]:
    reads = operator.access.reads
    return [(var, reads[index]) for index, var in operator.operands.items()]
