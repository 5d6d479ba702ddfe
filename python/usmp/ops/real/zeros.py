"""Products with 0, and quotients of 0.

TVM makes 0 of a float times the number 0, and of the number 0 divided by a float, while it writes
the operator; of infinity, NaN and zeros of either sign the result is another one.
"""

from __future__ import annotations

from tvm import relax
from tvm.ir import Call, Expr, GenericConst

from usmp.ops.emit import dtype_of
from usmp.tir.dtypes import is_float


def _legalize(builder: relax.BlockBuilder, call: Call) -> Expr:
    """Rewrite a product or quotient; the number 0 becomes a tensor, of which TVM knows no value."""
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
