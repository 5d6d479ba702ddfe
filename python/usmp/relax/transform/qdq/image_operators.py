"""Operators on images, rewritten to channels last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

import tvm
from tvm import relax
from tvm.ir import Call, GenericConst, Var

from usmp.ops.emit import shape_of
from usmp.ops.views import RESHAPES, axis_of, order_of, parts_of, sliced
from usmp.relax.convolutions import convolution_like
from usmp.relax.transform.qdq.functions import COMBINATIONS, is_element_wise
from usmp.relax.transform.qdq.images import is_same_order, to_channels_first, to_channels_last
from usmp.tir.op_names import op_name

FORWARD_CONVOLUTIONS = ("relax.nn.conv1d", "relax.nn.conv2d")
CONVOLUTIONS = (*FORWARD_CONVOLUTIONS, *(f"{name}_transpose" for name in FORWARD_CONVOLUTIONS))
_LAYOUTS = {"NCHW": "NHWC", "NCW": "NWC"}
_SCALES = ("relax.quantize", "relax.dequantize")


@dataclass(frozen=True)
class Last:
    """A result with channels last, which the original function has with channels first."""

    value: relax.Expr


Result: TypeAlias = "Last | relax.Expr | None"
"""The replacement of a call: with channels last, with the original layout, or none."""


@dataclass(frozen=True)
class Images:
    """The images of a function that is being rewritten, by variable of the original function.

    Parameters
    ----------
    builder
        emits calls.
    visit
        returns the replacement of an argument.
    bound
        variable -> the expression that it is bound to.
    of_floats
        whether to convert convolutions of float tensors, too.
    last
        variable -> its value with channels last, where it has one.
    """

    builder: relax.BlockBuilder
    visit: Callable[[relax.Expr], relax.Expr]
    of_floats: bool = False
    bound: dict[Var, relax.Expr] = field(default_factory=dict)
    last: dict[Var, relax.Expr] = field(default_factory=dict)

    def last_of(self, argument: relax.Expr) -> relax.Expr | None:
        """Return the argument with channels last, if it was computed so."""
        return self.last.get(argument) if isinstance(argument, Var) else None

    def put_last(self, argument: relax.Expr) -> relax.Expr:
        value = self.visit(argument)
        return self.builder.emit(permuted(value, to_channels_last(len(shape_of(value)))))

    def is_quantized(self, argument: relax.Expr) -> bool:
        """Return whether the chain of first operands of a tensor leads to an R.dequantize of
        integers that are not constant."""
        while isinstance(argument, Var) and argument in self.bound:
            value = self.bound[argument]
            if not isinstance(value, Call) or not value.args:
                return False
            argument = value.args[0]
            if op_name(value) == "relax.dequantize":
                return not self.is_constant(argument)
        return False

    def is_constant(self, argument: relax.Expr) -> bool:
        """Return whether a tensor depends only on constants."""
        if isinstance(argument, Var):
            bound = self.bound.get(argument)
            return isinstance(bound, Call) and all(map(self.is_constant, bound.args))
        return isinstance(argument, (GenericConst, relax.ShapeExpr, tvm.tirx.Expr))


def with_channels_last(images: Images, value: relax.Expr) -> Result:
    """Return the replacement of an expression of the function."""
    if not isinstance(value, Call) or not isinstance(value.op, tvm.ir.Op):
        return None
    name = value.op.name
    if name in _OPERATORS:
        return _OPERATORS[name](images, value)
    if name in COMBINATIONS:
        return _combination(images, value)
    if name in RESHAPES:
        return _view(images, value)
    return _element_wise(images, value) if is_element_wise(value) else None


def _convolution(images: Images, call: Call) -> Result:
    layout = str(call.attrs.data_layout)
    if layout not in _LAYOUTS or str(call.attrs.out_layout) != layout:
        return None
    # TVM's transposed float convolutions support only channels first.
    if images.of_floats and call.op.name not in FORWARD_CONVOLUTIONS:
        return None
    image = images.last_of(call.args[0])
    if image is None:
        if not images.of_floats and not images.is_quantized(call.args[0]):
            return None
        image = images.put_last(call.args[0])
    layouts = dict.fromkeys(("data_layout", "out_layout"), _LAYOUTS[layout])
    weight = images.visit(call.args[1])
    if images.of_floats and images.is_constant(call.args[1]):
        # With output channels last, the weights of one kernel position are contiguous, too.
        before = str(call.attrs.kernel_layout)
        layouts["kernel_layout"] = after = _LAYOUTS[layout][1:-1] + "IO"
        weight = images.builder.emit(permuted(weight, [before.index(axis) for axis in after]))
    return Last(convolution_like(call, image, weight, **layouts))


def _pool(images: Images, call: Call) -> Result:
    image, attrs = images.last_of(call.args[0]), call.attrs
    layout = str(attrs.layout)
    if image is None or layout not in _LAYOUTS or str(attrs.out_layout) != layout:
        return None
    pool = getattr(relax.op.nn, call.op.name.removeprefix("relax.nn."))
    last = {"layout": _LAYOUTS[layout], "out_layout": _LAYOUTS[layout]}
    if "adaptive" in call.op.name:
        spatial = shape_of(call)[2:]
        return Last(pool(image, spatial if len(spatial) > 1 else spatial[0], **last))
    return Last(
        pool(
            image,
            pool_size=list(attrs.pool_size),
            strides=list(attrs.strides),
            padding=list(attrs.padding),
            dilation=list(attrs.dilation),
            ceil_mode=bool(attrs.ceil_mode),
            count_include_pad=bool(attrs.count_include_pad),
            **last,
        )
    )


def _element_wise(images: Images, call: Call) -> Result:
    image = images.last_of(call.args[0])
    if image is None:
        return None
    others = [images.visit(argument) for argument in call.args[1:]]
    return Last(Call(call.op, [image, *others], call.attrs, call.ty_args))


def _change_of_scale(images: Images, call: Call) -> Result:
    per_tensor = all(prod(shape_of(argument)) == 1 for argument in call.args[1:3])
    return _element_wise(images, call) if per_tensor else None


def _combination(images: Images, call: Call) -> Result:
    rank = len(shape_of(call))
    if all(images.last_of(argument) is None for argument in call.args):
        return None
    operands = [_operand(images, argument, rank) for argument in call.args]
    if any(operand is None for operand in operands):
        return None
    return Last(Call(call.op, operands, call.attrs, call.ty_args))


def _operand(images: Images, argument: relax.Expr, rank: int) -> relax.Expr | None:
    """Return an operand with channels last, if this needs no copy."""
    shape = shape_of(argument)
    image = images.last_of(argument)
    if image is not None:
        return image if len(shape) == rank else None
    value = images.visit(argument)
    if prod(shape) == 1:
        return value
    shape = (1,) * (rank - len(shape)) + shape
    order = to_channels_last(rank)
    if not images.is_constant(argument) and not is_same_order(shape, order):
        return None
    if shape != shape_of(value):
        value = images.builder.emit(relax.op.reshape(value, shape))
    return images.builder.emit(permuted(value, order))


def _view(images: Images, call: Call) -> Result:
    argument, shape = call.args[0], shape_of(call)
    image, rank = images.last_of(argument), len(shape)
    if image is not None and _is_first(image):
        return relax.op.reshape(image, shape)
    order = to_channels_last(rank) if rank in (3, 4) else None
    if order is None or not is_same_order(shape, order) or images.is_constant(argument):
        return None
    value = images.visit(argument)
    return Last(relax.op.reshape(value, [shape[axis] for axis in order]))


def _transposition(images: Images, call: Call) -> Result:
    rank = len(shape_of(call))
    axes = list(order_of(call))
    image = images.last_of(call.args[0])
    if image is not None:
        return permuted(image, [_moved(axis, rank) for axis in axes])
    if rank in (3, 4) and axes == to_channels_first(rank):
        return Last(images.visit(call.args[0]))
    return None


def _reduction(images: Images, call: Call) -> Result:
    image, rank = images.last_of(call.args[0]), len(shape_of(call.args[0]))
    if image is None or call.attrs.axis is None:
        return None
    is_one = call.op.name in _EXTREME_PLACES
    axes = _axes([call.attrs.axis] if is_one else call.attrs.axis, rank)
    reduce = getattr(relax.op, call.op.name.removeprefix("relax."))
    others = [axis for axis in axes if axis != 1 and shape_of(call.args[0])[axis] > 1]
    if call.op.name in _SUMS and 1 in axes and others:
        # Float sums would be computed in another order.
        return None
    moved = [_moved(axis, rank) for axis in axes]
    keepdims = bool(call.attrs.keepdims)
    result = reduce(image, moved[0] if is_one else moved, keepdims)
    if keepdims:
        return Last(result)
    remaining = [axis for axis in to_channels_first(rank) if axis not in moved]
    return result if remaining == sorted(remaining) else None


def _concat(images: Images, call: Call) -> Result:
    fields = call.args[0]
    if isinstance(fields, Var):
        fields = images.bound.get(fields)
    if not isinstance(fields, relax.Tuple):
        return None
    parts = [images.last_of(part) for part in fields.fields]
    if any(part is None for part in parts):
        return None
    return Last(relax.op.concat(parts, _moved(axis_of(call), len(shape_of(call)))))


def _slice(images: Images, call: Call) -> Result:
    image, parts = images.last_of(call.args[0]), parts_of(call)
    if image is None or parts is None:
        return None
    rank = len(shape_of(call))
    return Last(sliced(image, {_moved(axis, rank): cut for axis, cut in parts[0].items()}))


def _pad(images: Images, call: Call) -> Result:
    image = images.last_of(call.args[0])
    if image is None:
        return None
    widths = [int(width) for width in call.attrs.pad_width]
    order = to_channels_last(len(shape_of(call)))
    moved = [width for axis in order for width in widths[2 * axis : 2 * axis + 2]]
    mode, value = str(call.attrs.pad_mode), float(call.attrs.pad_value)
    return Last(relax.op.nn.pad(image, moved, mode, value))


def _resize(images: Images, call: Call) -> Result:
    image, attrs = images.last_of(call.args[0]), call.attrs
    if image is None or str(attrs.layout) != "NCHW":
        return None
    return Last(
        relax.op.image.resize2d(
            image,
            images.visit(call.args[1]),
            roi=list(attrs.roi),
            layout="NHWC",
            method=str(attrs.method),
            coordinate_transformation_mode=str(attrs.coordinate_transformation_mode),
            rounding_method=str(attrs.rounding_method),
            cubic_alpha=float(attrs.cubic_alpha),
            cubic_exclude=int(attrs.cubic_exclude),
            extrapolation_value=float(attrs.extrapolation_value),
            out_dtype=attrs.out_dtype,
        )
    )


def _axes(axes: Sequence[object], rank: int) -> list[int]:
    return [int(axis) % rank for axis in axes]  # type: ignore[call-overload]


def _moved(axis: int, rank: int) -> int:
    """Return the position of an axis after the permutation to channels last."""
    return to_channels_last(rank).index(axis)


def _is_first(image: relax.Expr) -> bool:
    """Return whether an image has the same memory order with channels last and first."""
    return is_same_order(shape_of(image), to_channels_first(len(shape_of(image))))


def permuted(value: relax.Expr, order: Sequence[int]) -> relax.Expr:
    """Permute the axes of a value, by a reshape if memory order does not change."""
    shape = shape_of(value)
    if list(order) == sorted(order):
        return value
    if is_same_order(shape, order):
        return relax.op.reshape(value, [shape[axis] for axis in order])
    return relax.op.permute_dims(value, list(order))


_EXTREME_PLACES = ("relax.argmax", "relax.argmin")
_SUMS = ("relax.mean", "relax.sum")
_REDUCTIONS = (*_SUMS, "relax.max", "relax.min", *_EXTREME_PLACES)
_POOLS = tuple(
    f"relax.nn.{kind}_pool{rank}d" for kind in ("max", "avg", "adaptive_avg") for rank in (1, 2)
)

_OPERATORS: dict[str, Callable[[Images, Call], Result]] = {
    **dict.fromkeys(CONVOLUTIONS, _convolution),
    **dict.fromkeys(_POOLS, _pool),
    **dict.fromkeys(_REDUCTIONS, _reduction),
    **dict.fromkeys(_SCALES, _change_of_scale),
    "relax.permute_dims": _transposition,
    "relax.concat": _concat,
    "relax.strided_slice": _slice,
    "relax.nn.pad": _pad,
    "relax.image.resize2d": _resize,
}
