"""Inputs of an ONNX node, as far as they are known before its conversion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import onnx
from tvm import relax, tirx
from tvm.ir import GenericConst


@dataclass(frozen=True, eq=False)
class Operand:
    """An input of a node.

    Parameters
    ----------
    shape
        the extents, with None for a dynamic one; or None for an unknown rank or omitted input.
    value
        the elements, if they are constant.
    dtype
        the element type's name in numpy; None if it is unknown.
    length
        the number of tensors of a sequence, whose `shape` is that of its first tensor.
    """

    shape: Sequence[int | None] | None = None
    value: np.ndarray | None = None
    dtype: str | None = None
    length: int | None = None

    @property
    def item_bytes(self) -> int:
        """The bytes of an element, 1 if its type is unknown."""
        return 1 if self.dtype is None else np.dtype(self.dtype).itemsize

    @property
    def onnx_type(self) -> onnx.TypeProto | None:
        """The type in ONNX, if it is known."""
        if self.dtype is None:
            return None
        element = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        return onnx.helper.make_tensor_type_proto(element, self.shape)

    @property
    def rank(self) -> int | None:
        """The number of axes, if it is known."""
        return None if self.shape is None else len(self.shape)

    @property
    def extents(self) -> list[int] | None:
        """The shape; None if an extent or the rank is unknown."""
        if self.shape is None:
            return None
        known = [extent for extent in self.shape if extent is not None]
        return known if len(known) == len(self.shape) else None

    @property
    def count(self) -> int | None:
        """The number of elements, if it is known."""
        return None if self.extents is None else prod(self.extents)

    @property
    def integers(self) -> list[int] | None:
        """The elements in row-major order, if they are constant integers."""
        if self.value is None or self.value.dtype.kind not in "iu":
            return None
        return [int(number) for number in self.value.reshape(-1)]


def operand_of_array(value: np.ndarray | None) -> Operand:
    """Return the operand of a constant; None stands for an omitted input."""
    if value is None:
        return Operand()
    return Operand(list(value.shape), value, str(value.dtype))


def operand_of_type(ty: onnx.TypeProto) -> Operand:
    """Return the operand of a tensor of this type and unknown value."""
    tensor = ty.tensor_type
    if not tensor.HasField("shape"):
        return Operand()
    shape = [d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim]
    return Operand(shape, None, str(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)))


def operand_of_expr(expr: Any) -> Operand:
    """Return the operand of a Relax expression; a sequence has the shape of its first tensor."""
    if isinstance(expr, GenericConst):
        return operand_of_array(expr.value.numpy())
    if isinstance(expr, relax.ShapeExpr):
        extents = [_number(extent) for extent in expr.values]
        value = None if None in extents else np.array(extents, np.int64)
        return Operand([len(extents)], value, "int64")
    if isinstance(expr, relax.Tuple):
        first = operand_of_expr(expr.fields[0]) if len(expr.fields) else Operand()
        return Operand(first.shape, length=len(expr.fields))
    ty = getattr(expr, "ty", None)
    if not isinstance(ty, relax.TensorType) or ty.ndim < 0:
        return Operand()
    extents = [None] * ty.ndim if ty.shape is None else [_number(extent) for extent in ty.shape]
    return Operand(extents, None, str(ty.dtype))


def _number(extent: Any) -> int | None:
    return int(extent) if isinstance(extent, tirx.IntImm | int) else None
