"""Products of matrices."""

from __future__ import annotations

from tvm import relax
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Operator, constant, converts


@converts("mm.default")
def _mm(operator: Operator) -> Expr:
    return relax.op.matmul(operator["self"], operator["mat2"], operator.dtype)


@converts("bmm.default")
def _bmm(operator: Operator) -> Expr:
    return relax.op.matmul(operator["self"], operator["mat2"], operator.dtype)


@converts("addmm.default")
def _addmm(operator: Operator) -> Expr:
    """beta * self + alpha * mat1 @ mat2; with beta=0, what `self` contains does not matter."""
    dtype, alpha, beta = operator.dtype, operator["alpha"], operator["beta"]
    product = operator.emit(relax.op.matmul(operator["mat1"], operator["mat2"], dtype))
    if alpha != 1:
        product = operator.emit(relax.op.multiply(product, constant(alpha, dtype)))
    if beta == 0:
        return product
    bias = operator["self"]
    if beta != 1:
        bias = operator.emit(relax.op.multiply(bias, constant(beta, dtype)))
    return relax.op.add(bias, product)
