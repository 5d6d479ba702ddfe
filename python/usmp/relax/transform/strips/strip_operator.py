"""Integer operators that can be computed for some of the columns of their output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import Call, GenericConst, IRModule

from usmp.ops import quantized
from usmp.ops.emit import shape_of
from usmp.ops.macs import macs_of
from usmp.ops.quantized import Window
from usmp.ops.quantized.describe import reference_constants, rounding_of
from usmp.ops.quantized.table import tabulated
from usmp.ops.record import operator_of
from usmp.relax.transform.channels.channel_operator import RecordedCall, is_integer, is_static
from usmp.relax.transform.channels.elementwise import MAKERS, TABLES
from usmp.relax.transform.channels.faithful import made_again
from usmp.relax.transform.channels.products import limits_of, rescale_with
from usmp.relax.transform.channels.windows import window_of

COLUMNS = 2
"""The axis of an image that is split: "NHWC"."""


class ColumnRange(NamedTuple):
    """Columns from `first` to before `stop`."""

    first: int
    stop: int

    @property
    def width(self) -> int:
        """How many columns there are."""
        return self.stop - self.first


class ColumnSlice(NamedTuple):
    """A tensor that has some columns of another one, from `first` on."""

    expr: relax.Expr
    first: int


class AxisWindow(NamedTuple):
    """How an operator moves over the rows or the columns of what it reads."""

    kernel: int = 1
    stride: int = 1
    dilation: int = 1
    padding: int = 0

    @property
    def reach(self) -> int:
        """From the first tap to after the last."""
        return (self.kernel - 1) * self.dilation + 1

    def needed(self, columns: ColumnRange, extent: int) -> ColumnRange:
        """What some of the output need of `extent` rows or columns; empty if nothing."""
        first = columns.first * self.stride - self.padding
        stop = (columns.stop - 1) * self.stride - self.padding + self.reach
        return ColumnRange(max(first, 0), min(stop, extent))


Make = Callable[[relax.BlockBuilder, Sequence[ColumnSlice], ColumnRange], relax.Expr]
"""The operator on slices of what it reads, for some columns of its output."""


@dataclass(frozen=True, eq=False)
class StripOperator:
    """An operator that can be computed for some columns.

    Parameters
    ----------
    operands
        the images that it reads.
    rows, columns
        how it moves over each of them.
    macs
        of all columns.
    make
        makes it anew.
    """

    operands: tuple[tvm.ir.Var, ...]
    rows: AxisWindow
    columns: AxisWindow
    macs: int
    make: Make


def strip_operator(mod: IRModule, value: relax.Expr) -> StripOperator | None:
    """The operator that a call in `main` is, if it can be computed for some columns: of images with
    the channels last, and made anew from its record, as a whole, it is the same."""
    recorded = _recorded(mod, value)
    if recorded is None:
        return None
    maker = _MAKERS.get(recorded.record.kind)
    found = None if maker is None else maker(recorded)
    if found is None or not _is_faithful(recorded, found):
        return None
    return found


def _recorded(mod: IRModule, value: relax.Expr) -> RecordedCall | None:
    """A call of an integer operator that gives an image."""
    if not isinstance(value, Call) or getattr(value.op, "name", None) != "relax.call_tir":
        return None
    if len(value.args) != 2 or not is_static(value) or not is_integer(value):
        return None
    func = mod.functions.get(value.args[0])
    record = operator_of(func) if isinstance(func, tirx.PrimFunc) else None
    if record is None or len(shape_of(value)) != 4 or shape_of(value)[0] != 1:
        return None
    recorded = RecordedCall(value, record, func)
    return recorded if all(map(is_static, recorded.arguments)) else None


def _weighted(recorded: RecordedCall) -> StripOperator | None:
    """A convolution with constant weights."""
    data, *constants = recorded.arguments
    if not isinstance(data, tvm.ir.Var) or not constants:
        return None
    if not all(isinstance(constant, GenericConst) for constant in constants):
        return None
    values = [constant.value.numpy() for constant in constants]
    record, weight = recorded.record, values[0]
    is_depthwise = record.kind == "depthwise_conv2d"
    if weight.ndim != (3 if is_depthwise else 4):
        return None
    height, width = weight.shape[:2] if is_depthwise else weight.shape[1:3]
    layout, out_layout, window = window_of(recorded, (height, width))
    if (layout.axes, out_layout.axes) != ("NHWC", "NHWC"):
        return None
    named = dict(reference_constants(record, values))
    every = np.arange(len(named["multiplier"]))
    rescale = rescale_with(record, named["multiplier"], named["shift"], every)
    convolution = quantized.depthwise_conv2d if is_depthwise else quantized.conv2d

    def make(
        builder: relax.BlockBuilder, slices: Sequence[ColumnSlice], columns: ColumnRange
    ) -> relax.Expr:
        return convolution(
            builder,
            slices[0].expr,
            weight,
            named["bias"],
            _window_of_slice(window, slices[0], columns),
            record.inputs[0],
            rescale,
            layout,
            record.inputs[1],
            out_layout,
        )

    return _windowed(recorded, data, window, make)


def _max_pool(recorded: RecordedCall) -> StripOperator | None:
    def make(builder: relax.BlockBuilder, data: relax.Expr, window: Window) -> relax.Expr:
        record = recorded.record
        return quantized.max_pool(
            builder, data, window, limits_of(record), _NHWC, record.outputs[0]
        )

    return _pool(recorded, make)


def _average_pool(recorded: RecordedCall) -> StripOperator | None:
    record = recorded.record
    before, after, limits = record.inputs[0], record.outputs[0], limits_of(record)
    counts_padding = bool(record.parameters["counts_padding"])
    rounding = rounding_of(record)

    def rounded(builder: relax.BlockBuilder, data: relax.Expr, window: Window) -> relax.Expr:
        return quantized.average_pool(builder, data, window, limits, _NHWC, after)

    def rescaled(builder: relax.BlockBuilder, data: relax.Expr, window: Window) -> relax.Expr:
        return quantized.rescaled_average_pool(
            builder, data, window, before, after, limits, _NHWC, counts_padding, rounding
        )

    if before == after and not counts_padding:
        found = _pool(recorded, rounded)
        if found is not None and _is_faithful(recorded, found):
            return found
    return _pool(recorded, rescaled)


_NHWC = quantized.Layout("NHWC")


def _pool(
    recorded: RecordedCall,
    pool: Callable[[relax.BlockBuilder, relax.Expr, Window], relax.Expr],
) -> StripOperator | None:
    if len(recorded.arguments) != 1 or not isinstance(recorded.arguments[0], tvm.ir.Var):
        return None
    kernel = recorded.record.parameters["kernel"]
    assert isinstance(kernel, list)
    layout, out_layout, window = window_of(recorded, (int(kernel[0]), int(kernel[1])))
    if (layout.axes, out_layout.axes) != ("NHWC", "NHWC"):
        return None

    def make(
        builder: relax.BlockBuilder, slices: Sequence[ColumnSlice], columns: ColumnRange
    ) -> relax.Expr:
        return pool(builder, slices[0].expr, _window_of_slice(window, slices[0], columns))

    return _windowed(recorded, recorded.arguments[0], window, make)


def _windowed(
    recorded: RecordedCall, data: tvm.ir.Var, window: Window, make: Make
) -> StripOperator:
    rows, columns = (
        AxisWindow(
            window.kernel[side],
            window.strides[side],
            window.dilations[side],
            window.padding[side],
        )
        for side in (0, 1)
    )
    macs = macs_of(recorded.prim_func) or 0
    return StripOperator((data,), rows, columns, macs, make)


def _window_of_slice(window: Window, source: ColumnSlice, columns: ColumnRange) -> Window:
    """A window as it moves over a slice of the data, for some columns of the output. To the left of
    the first element that it reads there may be more; then the padding is negative."""
    top, left = window.padding
    first = columns.first * window.strides[1] - left
    return replace(
        window,
        data=(window.data[0], shape_of(source.expr)[COLUMNS]),
        padding=(top, source.first - first),
        output=(window.output[0], columns.width),
    )


def _element_wise(recorded: RecordedCall) -> StripOperator | None:
    """A function of elements at the same place, and of constants that are broadcast."""
    record, arguments, shape = recorded.record, recorded.arguments, shape_of(recorded.call)
    if not all(map(is_integer, arguments)):
        return None
    images = [a for a in arguments if isinstance(a, tvm.ir.Var)]
    others = [a for a in arguments if not isinstance(a, tvm.ir.Var)]
    if not images or any(shape_of(image) != shape for image in images):
        return None
    if not all(isinstance(other, GenericConst) for other in others):
        return None

    def make(
        builder: relax.BlockBuilder, slices: Sequence[ColumnSlice], columns: ColumnRange
    ) -> relax.Expr:
        left = iter(slices)
        given: list[relax.Expr | np.ndarray] = [
            _columns_of(builder, next(left), columns)
            if isinstance(argument, tvm.ir.Var)
            else _columns_of_constant(argument.value.numpy(), columns)
            for argument in arguments
        ]
        return MAKERS[record.kind](builder, record, given)

    return StripOperator(tuple(images), AxisWindow(), AxisWindow(), 0, make)


def _table(recorded: RecordedCall) -> StripOperator | None:
    """A function of one 8-bit tensor, by its results."""
    if len(recorded.arguments) != 2:
        return None
    data, results = recorded.arguments
    if not isinstance(data, tvm.ir.Var) or not isinstance(results, GenericConst):
        return None
    values = results.value.numpy()
    if values.shape != (256,) or str(data.ty.dtype) not in ("int8", "uint8"):
        return None
    least = -128 if str(data.ty.dtype) == "int8" else 0

    def make(
        builder: relax.BlockBuilder, slices: Sequence[ColumnSlice], columns: ColumnRange
    ) -> relax.Expr:
        return tabulated(
            builder,
            recorded.record,
            _columns_of(builder, slices[0], columns),
            lambda value: int(values[value - least]),
        )

    return StripOperator((data,), AxisWindow(), AxisWindow(), 0, make)


def _columns_of(
    builder: relax.BlockBuilder, source: ColumnSlice, columns: ColumnRange
) -> relax.Expr:
    """Some columns of a tensor, by a copy if it has others."""
    first, stop = columns.first - source.first, columns.stop - source.first
    if (first, stop) == (0, shape_of(source.expr)[COLUMNS]):
        return source.expr
    return builder.emit(relax.op.strided_slice(source.expr, [COLUMNS], [first], [stop]))


def _columns_of_constant(values: np.ndarray, columns: ColumnRange) -> np.ndarray:
    """The same of a constant, if it is not broadcast along them."""
    if values.ndim < 2 or values.shape[-2] == 1:
        return values
    return np.ascontiguousarray(values[..., columns.first : columns.stop, :])


def _is_faithful(recorded: RecordedCall, operator: StripOperator) -> bool:
    """Whether the operator, made anew with all columns, is the one that it was."""
    slices = [ColumnSlice(operand, 0) for operand in operator.operands]
    columns = ColumnRange(0, shape_of(recorded.call)[COLUMNS])
    made = made_again(lambda builder: operator.make(builder, slices, columns), recorded.prim_func)
    if made is None:
        return False
    arguments = list(made.args[1].fields)
    return len(arguments) == len(recorded.arguments) and all(
        _are_same(a, b) for a, b in zip(arguments, recorded.arguments, strict=True)
    )


def _are_same(argument: relax.Expr, other: relax.Expr) -> bool:
    """Whether an operator reads the same, or equal constants."""
    if not isinstance(argument, GenericConst) or not isinstance(other, GenericConst):
        return bool(argument.same_as(other))
    ours, theirs = argument.value.numpy(), other.value.numpy()
    return ours.dtype == theirs.dtype and np.array_equal(ours, theirs)


_MAKERS: dict[str, Callable[[RecordedCall], StripOperator | None]] = {
    **dict.fromkeys(MAKERS, _element_wise),
    **dict.fromkeys(TABLES, _table),
    "average_pool": _average_pool,
    "conv2d": _weighted,
    "depthwise_conv2d": _weighted,
    "max_pool": _max_pool,
}
"""By kind of operator."""
