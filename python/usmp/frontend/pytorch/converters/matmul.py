"""Products of matrices."""

from __future__ import annotations

from tvm import relax, te, tirx
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Operator, constant, converts
from usmp.frontend.pytorch.converters.state_views import Position, StateView, state_view
from usmp.ops.emit import call_operator, shape_of


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
    """The product of tensors that are read where they are kept."""
    *batch, rows, depth = shape_of(operator["self"])
    columns = shape_of(operator["mat2"])[-1]

    def compute(left: te.Tensor, right: te.Tensor) -> te.Tensor:
        k = te.reduce_axis((0, depth), "k")

        def element(*place: tirx.Var) -> tirx.Expr:
            outer: Position = place[:-2]
            one = views[0].element(left, (*outer, place[-2], k))
            other = views[1].element(right, (*outer, k, place[-1]))
            return te.sum(one * other, axis=k)

        return te.compute((*batch, rows, columns), element, "matmul")

    sources = [view.source for view in views]
    product = call_operator(operator.builder, "matmul", compute, sources, takes_epilogue=True)
    for view in views:
        if view.factor is not None:
            product = relax.op.multiply(operator.emit(product), view.factor)
    return product


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
