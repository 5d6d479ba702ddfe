"""Converters of matrix products."""

from __future__ import annotations

from tvm import relax
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Operator, constant, converts
from usmp.frontend.pytorch.converters.state_views import StateView, state_view
from usmp.ops.emit import shape_of
from usmp.ops.real.matmul import matmul_of_views


@converts("mm.default", "bmm.default")
def _product(operator: Operator) -> Expr:
    factors = operator["self"], operator["mat2"]
    views = [state_view(operator, factor) for factor in factors]
    if not any(views):
        return relax.op.matmul(*factors, operator.dtype)
    return _product_of_views(
        operator, [view or StateView(f) for view, f in zip(views, factors, strict=True)]
    )


def _product_of_views(operator: Operator, views: list[StateView]) -> Expr:
    """Return the product of views, whose states are read in place."""
    *outer, depth = shape_of(operator["self"])
    product = matmul_of_views(
        operator.builder,
        [view.source for view in views],
        [view.element for view in views],
        (*outer, shape_of(operator["mat2"])[-1]),
        depth,
    )
    for view in views:
        if view.factor is not None:
            product = relax.op.multiply(operator.emit(product), view.factor)
    return product


@converts("addmm.default")
def _addmm(operator: Operator) -> Expr:
    """Convert beta * self + alpha * mat1 @ mat2; with beta=0, `self` is not read."""
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
