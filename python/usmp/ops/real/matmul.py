"""Products of matrices that are read directly from tensors of other layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tvm import relax, te, tirx
from tvm.ir import Expr

from usmp.ops.emit import call_operator

Element: TypeAlias = Callable[[te.Tensor, Sequence[Any]], tirx.Expr]
"""Maps a source tensor and a position in a matrix to the element there."""


def matmul_of_views(
    builder: relax.BlockBuilder,
    sources: Sequence[Expr],
    elements: Sequence[Element],
    shape: Sequence[int],
    depth: int,
) -> Expr:
    """Return the product of two matrices that are views of other tensors.

    Parameters
    ----------
    sources
        the two tensors that are read.
    elements
        read the matrices [*batch, rows, depth] and [*batch, depth, columns] from the sources.
    shape
        shape of the product: [*batch, rows, columns].
    depth
        number of products that are summed for each element.
    """

    def compute(left: te.Tensor, right: te.Tensor) -> te.Tensor:
        k = te.reduce_axis((0, depth), "k")

        def element(*place: tirx.Var) -> tirx.Expr:
            first = elements[0](left, (*place[:-2], place[-2], k))
            second = elements[1](right, (*place[:-2], k, place[-1]))
            return te.sum(first * second, axis=k)

        return te.compute(shape, element, "matmul")

    return call_operator(builder, "matmul", compute, sources, takes_epilogue=True)
