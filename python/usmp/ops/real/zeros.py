"""Products with 0, and quotients of 0.

TVM folds a float times 0, and 0 divided by a float, to 0, which is wrong for infinity, NaN and
signed zeros.
"""

from __future__ import annotations

from tvm import relax
from tvm.ir import Call, Expr, GenericConst

from usmp.ops.emit import dtype_of
from usmp.tir.dtypes import is_float


def _legalize(builder: relax.BlockBuilder, call: Call) -> Expr:
    """Rewrite a product or quotient; the number 0 becomes a tensor, whose value TVM ignores."""
    legalize = call.op.get_attr("FLegalize")
    if not is_float(dtype_of(call)) or not any(map(_is_zero, call.args)):
        return legalize(builder, call)
    arguments = [_with_axis(builder, a) if not len(a.ty.shape) else a for a in call.args]
    product = builder.normalize(Call(call.op, arguments, call.attrs))
    result = legalize(builder, product)
    if len(call.ty.shape):
        return result
    return relax.op.reshape(builder.emit(result), ())


def _is_zero(argument: Expr) -> bool:
    is_number = isinstance(argument, GenericConst) and not len(argument.ty.shape)
    return is_number and not argument.value.numpy().any()


def _with_axis(builder: relax.BlockBuilder, argument: Expr) -> Expr:
    """Reshape a tensor without axes to one axis with a single element."""
    if isinstance(argument, GenericConst):
        return relax.const(argument.value.numpy().reshape(1))
    return builder.emit(relax.op.reshape(argument, (1,)))


LEGALIZE_ZEROS = {"relax.multiply": _legalize, "relax.divide": _legalize}
"""Relax operator -> its legalization, for `relax.transform.LegalizeOps`."""
