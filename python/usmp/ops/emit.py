"""Operators written in tensor expressions as calls in Relax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm_ffi
from tvm import relax, te, tirx
from tvm.ir import GlobalVar, IRModule, Type
from tvm.relax.utils import gen_call_tir_inputs

from usmp.objects.attributes.attribute import Attribute
from usmp.objects.attributes.operator_attributes import CODE_HASH_ATTR, SHARED_CODE_ATTR
from usmp.ops.records import QuantizedOp
from usmp.ops.records.attributes import OPERATOR_ATTR
from usmp.support.errors import UnsupportedModelError

_BROADCAST, _OUT_ELEMENT_WISE_FUSABLE = 1, 4
"""TVM's OpPatternKind of element-wise operators, and of convolutions and matrix products. Kind 0
would be more precise for element-wise operators, but AnnotateTIROpPattern replaces it."""
OPAQUE = 8
"""TVM's OpPatternKind of operators that are not fused."""
ELEMENT_WISE_ATTR: Attribute[bool] = Attribute(
    "usmp.is_element_wise",
    "PrimFunc of an operator",
    "whether `usmp.FuseTables` makes its `op_pattern` that of element-wise operators",
    bool,
)


class DynamicShapeError(UnsupportedModelError):
    """An operator needs a size at compile time that is known only at runtime.

    The converter of the operator prepends the operator's name.
    """


def call_operator(
    builder: relax.BlockBuilder,
    name: str,
    compute: Callable[..., te.Tensor],
    arguments: Sequence[relax.Expr | np.ndarray],
    takes_epilogue: bool = False,
    is_element_wise: bool = False,
    record: QuantizedOp | None = None,
) -> relax.Expr:
    """Return a call of the PrimFunc of `compute`, for tensors like `arguments`.

    Parameters
    ----------
    name
        name of the PrimFunc in the emitted C.
    arguments
        tensors; arrays become constants.
    takes_epilogue
        whether element-wise operators that read the result are fused into it.
    is_element_wise
        whether the operator is element-wise. TVM detects this by itself, unless the operator reads
        at positions that depend on data.
    record
        the record of an integer operator, else None.
    """
    attributes: dict[str, Any] = {"op_pattern": _OUT_ELEMENT_WISE_FUSABLE} if takes_epilogue else {}
    if is_element_wise:
        attributes = {"op_pattern": _BROADCAST, **ELEMENT_WISE_ATTR.entry(True)}
    tensors = [constant(a) if isinstance(a, np.ndarray) else a for a in arguments]
    func, inputs, out_type = gen_call_tir_inputs(
        compute, *tensors, primfunc_attrs=attributes or None
    )
    return relax.call_tir(add_prim_func(builder, func, name, record), inputs, out_type)


RECORD_ATTRIBUTES = (OPERATOR_ATTR, CODE_HASH_ATTR, SHARED_CODE_ATTR, ELEMENT_WISE_ATTR)
"""The attributes of PrimFuncs of integer operators that help to find equal PrimFuncs."""


def add_prim_func(
    builder: relax.BlockBuilder, func: tirx.PrimFunc, name: str, record: QuantizedOp | None
) -> GlobalVar:
    """Add the PrimFunc of an operator to the module, if it has no equal one with the same record.

    PrimFuncs that differ only in their records stay separate until accelerators have chosen their
    operators; `merge_equal_operators` then merges those that remain, under the name of the first.
    Separate PrimFuncs have a suffix, so that they do not change the numbers in other names.

    Parameters
    ----------
    name
        name of the PrimFunc; a number is added if it is in use.
    """
    if record is None:
        return builder.add_func(func, name)
    code = structural_hash(func)
    shared = _name_of_equal(builder.get(), func, code)
    attributes = OPERATOR_ATTR.entry(record) | CODE_HASH_ATTR.entry(code)
    if shared is not None:
        first_name, recorded = shared
        if recorded != QuantizedOp.from_json(record.as_json()):
            name = f"{first_name}_again"
            attributes |= SHARED_CODE_ATTR.entry(first_name)
    return builder.add_func(func.with_attrs(attributes), name)


def structural_hash(func: tirx.PrimFunc) -> int:
    """Return a hash that is the same for equal PrimFuncs: int64."""
    return int(tvm_ffi.structural_hash(func)) & (2**63 - 1)


def _name_of_equal(mod: IRModule, func: tirx.PrimFunc, code: int) -> tuple[str, QuantizedOp] | None:
    """Return name and record of the first PrimFunc that equals `func` except for its record."""
    for variable, other in mod.functions.items():
        if CODE_HASH_ATTR.of(other) != code or SHARED_CODE_ATTR.is_on(other):
            continue
        if tvm_ffi.structural_equal(without_record(other), func):
            return str(variable.name_hint), OPERATOR_ATTR.required(other)
    return None


def without_record(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Return a PrimFunc without the attributes that `add_prim_func` added."""
    return SHARED_CODE_ATTR.removed(CODE_HASH_ATTR.removed(OPERATOR_ATTR.removed(func)))


def constant(values: np.ndarray) -> relax.Expr:
    """Return an array as a constant of its type; TVM would convert int64 to int32."""
    return relax.const(values, str(values.dtype))


def shape_of(tensor: relax.Expr | np.ndarray) -> tuple[int, ...]:
    """Return the extents of an array, or of a tensor of static shape.

    Raises
    ------
    DynamicShapeError
        an extent is known only at runtime.
    """
    extents = extents_of(tensor)
    if not all(isinstance(extent, int) for extent in extents):
        raise DynamicShapeError(
            f"is supported for fixed shapes only, and here a tensor has the shape "
            f"[{', '.join(map(str, extents))}]; export the model with fixed input shapes"
        )
    return extents


def extents_of(tensor: relax.Expr | np.ndarray) -> tuple[Any, ...]:
    """Return the extents of an array or tensor; expressions if they are known only at runtime."""
    shape = tensor.shape if isinstance(tensor, np.ndarray) else tensor.ty.shape
    return tuple(int(e) if isinstance(e, int | tirx.IntImm) else e for e in shape)


def dtype_of(tensor: relax.Expr) -> str:
    """Return the name of the type of a tensor's elements."""
    return str(tensor.ty.dtype)


def static_shape(ty: Type) -> tuple[int, ...] | None:
    """Return the extents of a tensor; None for other types, or if an extent is not constant."""
    shape = getattr(ty, "shape", None)
    if not isinstance(shape, relax.ShapeExpr):
        return None
    if not all(isinstance(extent, tirx.IntImm) for extent in shape):
        return None
    return tuple(map(int, shape))
