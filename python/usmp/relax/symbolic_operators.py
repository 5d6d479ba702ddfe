"""Relax operators that support symbolic sizes, and the conditions on their shapes.

TVM assumes that extents are equal unless it can prove that they differ, so a matmul could read out
of bounds. Here an operator is refused unless its conditions hold for all sizes within their bounds.
Operators that are not in `RULES` are refused, because they were not compared with PyTorch or
onnxruntime.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import tvm_ffi
from tvm import relax
from tvm.ir import Call, Expr, Op, Type, Var
from tvm.sym import Analyzer
from tvm.tirx import IntImm

from usmp.relax.smallest_sizes import with_smallest_sizes
from usmp.relax.static_shapes import flatten_types, has_static_shape
from usmp.relax.symbolic_sizes import (
    analyzer_of,
    check_largest_tensors,
    shape_variables,
    shown_extent,
    shown_shape,
)
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.plain_text import shown
from usmp.tir.nodes import is_const_int, nodes_of
from usmp.tir.op_names import op_name


class _Refused(Exception):
    """The error of a condition that does not hold for all sizes; the message names it."""


@dataclass(frozen=True)
class _Operator:
    """A call whose operands or result have symbolic shapes.

    Parameters
    ----------
    call
        a call of variables and constants.
    analyzer
        analyzer that knows the bounds of the sizes.
    """

    call: Call
    analyzer: Analyzer

    def shape(self, index: int) -> list[Expr]:
        """Return the shape of an argument."""
        return _extents(self.call.args[index].ty)

    def shapes(self) -> list[list[Expr]]:
        """Return the shapes of the tensors in the first argument, a tuple."""
        return [_extents(ty) for ty in flatten_types(self.call.args[0].ty)]

    def axes(self, name: str, rank: int) -> list[int]:
        """Return an axes attribute as nonnegative axes; all axes if it is None."""
        attribute = getattr(self.call.attrs, name)
        if attribute is None:
            return list(range(rank))
        listed = [attribute] if isinstance(attribute, int | IntImm) else list(attribute)
        return [int(axis) % rank for axis in listed]

    def check_equal(self, a: Expr, b: Expr) -> None:
        """Check that two extents are equal for all sizes."""
        if not self.analyzer.can_prove_equal(a, b):
            raise _Refused(
                f"{shown_extent(a)} and {shown_extent(b)} must be equal, and are not for all "
                "sizes; make the sizes that are always equal one, or fix them"
            )

    def check_fixed(self, extent: Expr, title: str) -> None:
        """Check that an extent is a constant."""
        if not isinstance(extent, IntImm):
            raise _Refused(
                f"{title} must be fixed, and is {shown_extent(extent)}; give the model a fixed size"
            )

    def check_at_most(self, a: Any, b: Any) -> None:
        """Check that `a` is at most `b` for all sizes."""
        if not self.analyzer.can_prove(a <= b):
            raise _Refused(f"{shown_extent(a)} is more than {shown_extent(b)} for some sizes")


Rule: TypeAlias = Callable[[_Operator], None]
"""A check that raises `_Refused` if a condition of an operator does not hold for all sizes."""


def with_possible_sizes(main: relax.Function) -> relax.Function:
    """Check a function with symbolic sizes, and raise lower bounds of the sizes so that all tensors
    have elements.

    Raises
    ------
    UnsupportedModelError
        an operator does not support all sizes within the bounds; or, for the largest sizes, a
        tensor has no elements or more bytes than C can index.
    """
    check_symbolic_operators(main)
    check_largest_tensors(main)
    return with_smallest_sizes(main)


def check_symbolic_operators(main: relax.Function) -> None:
    """Check that the operators of a function support all sizes within their bounds.

    Raises
    ------
    UnsupportedModelError
        an operator does not support them, or a match_cast gives a tensor its shape.
    """
    analyzer, variables = analyzer_of(main), shape_variables(main)

    for cast in nodes_of(main.body, relax.MatchCast):
        raise UnsupportedModelError(
            f'tensor "{shown(cast.var.name)}" gets its shape by match_cast; only shapes that '
            "follow from those of the inputs are supported"
        )

    def on_binding(binding: relax.VarBinding) -> None:
        value = binding.value
        read = value.args if isinstance(value, Call) else []
        if _is_static(binding.var.ty) and all(_is_static(argument.ty) for argument in read):
            return
        try:
            _check_known(binding.var.ty, variables)
            if isinstance(value, Call):
                _check_call(_Operator(value, analyzer))
        except _Refused as refusal:
            name = op_name(value) or type(value).__name__
            shapes = " and ".join(
                shown_shape(_extents(ty)) for argument in read for ty in _tensors(argument.ty)
            )
            raise UnsupportedModelError(
                f"operator {name.removeprefix('relax.')} of {shapes or 'no tensor'} is not "
                f"supported: {refusal}"
            ) from refusal

    tvm_ffi.structural_walk(main.body, (relax.VarBinding, on_binding))


def _check_known(ty: Type, variables: Sequence[Var]) -> None:
    for tensor in _tensors(ty):
        known = isinstance(tensor.shape, relax.ShapeExpr) and all(
            any(size.same_as(variable) for variable in variables)
            for extent in tensor.shape
            for size in nodes_of(extent, Var)
        )
        if not known:
            raise _Refused(
                "the shape of its result does not follow from the sizes; make sizes that are "
                "always equal one, or fix them"
            )


def _check_call(operator: _Operator) -> None:
    op = operator.call.op
    name = op.name.removeprefix("relax.") if isinstance(op, Op) else ""
    if name not in RULES:
        raise _Refused(
            "it has been compared with fixed shapes only; export the model with fixed input shapes"
        )
    RULES[name](operator)


def _is_static(ty: Type) -> bool:
    return all(has_static_shape(tensor) for tensor in _tensors(ty))


def _tensors(ty: Type) -> list[relax.TensorType]:
    return [leaf for leaf in flatten_types(ty) if isinstance(leaf, relax.TensorType)]


def _extents(ty: Type) -> list[Expr]:
    shape = getattr(ty, "shape", None)
    if not isinstance(shape, relax.ShapeExpr):
        raise _Refused("the shape of what it reads does not follow from the sizes")
    return list(shape)


def _accept(_: _Operator) -> None:
    """Accept any shapes: Relax itself refuses shapes that it cannot infer."""


def _matmul(operator: _Operator) -> None:
    left, right = operator.shape(0), operator.shape(1)
    operator.check_equal(left[-1], right[-2] if len(right) > 1 else right[0])


def _concat(operator: _Operator) -> None:
    (axis,) = operator.axes("axis", len(operator.shapes()[0]))
    _check_equal_but_along(operator, axis)


def _stack(operator: _Operator) -> None:
    _check_equal_but_along(operator, None)


def _check_equal_but_along(operator: _Operator, axis: int | None) -> None:
    """Check that the tensors of a tuple have equal shapes except along one axis."""
    first, *others = operator.shapes()
    for shape in others:
        for number, (a, b) in enumerate(zip(first, shape, strict=True)):
            if number != axis:
                operator.check_equal(a, b)


def _reshape(operator: _Operator) -> None:
    elements = []
    for shape in (operator.shape(0), _extents(operator.call.ty)):
        count: Any = IntImm("int64", 1)
        for extent in shape:
            count = count * extent
        elements.append(count)
    operator.check_equal(*elements)


def _broadcast_to(operator: _Operator) -> None:
    own, wanted = operator.shape(0), _extents(operator.call.ty)
    for extent, target in zip(reversed(own), reversed(wanted), strict=False):
        if not is_const_int(extent, 1):
            operator.check_equal(extent, target)


def _squeeze(operator: _Operator) -> None:
    """Check that removed axes have extent 1 for all sizes; without axes, all extents must be
    fixed."""
    shape = operator.shape(0)
    if operator.call.attrs.axis is None:
        for extent in shape:
            operator.check_fixed(extent, "each extent, as no axes are given,")
    for axis in operator.axes("axis", len(shape)) if operator.call.attrs.axis is not None else ():
        operator.check_equal(shape[axis], IntImm("int64", 1))


def _strided_slice(operator: _Operator) -> None:
    shape = operator.shape(0)
    axes, begins, ends, *_ = ([*argument.fields] for argument in operator.call.args[1:])
    for axis, begin, end in zip(axes, begins, ends, strict=True):
        extent = shape[int(axis) % len(shape)]
        if all(isinstance(value, IntImm) for value in (extent, begin, end)):
            continue
        if not operator.call.attrs.assume_inbound:
            raise _Refused(
                f"its limits along an axis of {shown_extent(extent)} elements may be outside of it"
            )
        for a, b in ((IntImm("int64", 0), begin), (begin, end), (end, extent)):
            operator.check_at_most(a, b)


def _along_fixed_axis(operator: _Operator) -> None:
    shape = operator.shape(0)
    for axis in operator.axes("axis", len(shape)):
        operator.check_fixed(shape[axis], f"the extent of axis {axis}")


def _convolution(operator: _Operator) -> None:
    operator.check_fixed(operator.shape(0)[1], "the number of channels")
    for extent in operator.shape(1):
        operator.check_fixed(extent, "the shape of the weights")
    layout = str(operator.call.attrs.data_layout)
    if not layout.startswith("NC"):
        raise _Refused(f"it is in layout {layout}; only channels in front are supported")


def _pooling(operator: _Operator) -> None:
    operator.check_fixed(operator.shape(0)[1], "the number of channels")
    if operator.call.attrs.ceil_mode or not str(operator.call.attrs.layout).startswith("NC"):
        raise _Refused("ceil_mode, and other layouts than channels in front, are not supported")


def _layer_norm(operator: _Operator) -> None:
    shape = operator.shape(0)
    axes = operator.axes("axes", len(shape))
    for parameter in (1, 2):
        for axis, extent in zip(axes, operator.shape(parameter), strict=True):
            operator.check_equal(shape[axis], extent)


def _by_channel(operator: _Operator) -> None:
    """Check a normalization with parameters for each channel."""
    attrs = operator.call.attrs
    shape = operator.shape(0)
    axis = int(attrs.axis if hasattr(attrs, "axis") else attrs.channel_axis)
    operator.check_fixed(shape[axis % len(shape)], "the number of channels")


_ELEMENTWISE = """
abs acos acosh add asin asinh astype atan atan2 atanh ceil clip cos cosh divide equal erf exp floor
floor_divide floor_mod greater greater_equal isinf isnan less less_equal log logical_and logical_not
logical_or logical_xor maximum minimum mod multiply negative nn.gelu nn.gelu_tanh nn.leakyrelu
nn.relu not_equal power round rsqrt sigmoid sign sin sinh sqrt subtract tan tanh trunc where
""".split()

_OTHERS = """
arange call_tir expand_dims full max mean min nn.log_softmax nn.pad nn.softmax permute_dims prod sum
tile
""".split()

RULES: dict[str, Rule] = {
    **dict.fromkeys([*_ELEMENTWISE, *_OTHERS], _accept),
    "broadcast_to": _broadcast_to,
    "concat": _concat,
    "matmul": _matmul,
    "nn.avg_pool1d": _pooling,
    "nn.avg_pool2d": _pooling,
    "nn.batch_norm": _by_channel,
    "nn.conv1d": _convolution,
    "nn.conv2d": _convolution,
    "nn.layer_norm": _layer_norm,
    "nn.max_pool1d": _pooling,
    "nn.max_pool2d": _pooling,
    "reshape": _reshape,
    "split": _along_fixed_axis,
    "squeeze": _squeeze,
    "stack": _stack,
    "strided_slice": _strided_slice,
    "take": _along_fixed_axis,
}
"""Operator name -> its rule."""
