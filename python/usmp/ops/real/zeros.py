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
    """Rewrite a product or quotient; a scalar 0 becomes a tensor, which TVM does not fold."""
    arguments = list(call.args)
    if is_float(dtype_of(call)) and len(call.ty.shape):
        arguments = [_as_tensor(argument) for argument in arguments]
    return call.op.get_attr("FLegalize")(builder, Call(call.op, arguments, call.attrs))


def _as_tensor(argument: Expr) -> Expr:
    if isinstance(argument, GenericConst) and not len(argument.ty.shape):
        number = argument.value.numpy()
        if not number.any():
            return relax.const(number.reshape(1))
    return argument


LEGALIZE_ZEROS = {"relax.multiply": _legalize, "relax.divide": _legalize}
"""For relax.transform.LegalizeOps."""
