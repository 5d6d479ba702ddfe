"""Functions of <math.h> that TVM has no operator for."""

from __future__ import annotations

from tvm import relax, te, tirx
from tvm.ir import Expr

from usmp.ops.emit import call_operator, dtype_of

SUFFIXES = {"float32": "f", "float64": ""}
"""Element type -> suffix of the names of its functions."""


def call_c(builder: relax.BlockBuilder, function: str, *arguments: Expr) -> Expr:
    """Apply a C function to the elements of tensors of one type and shape.

    Parameters
    ----------
    function
        name of the function, without a suffix of `SUFFIXES`.
    """
    dtype = dtype_of(arguments[0])
    name = function + SUFFIXES[dtype]

    def compute(*tensors: te.Tensor) -> te.Tensor:
        def element(*i: tirx.Var) -> tirx.Expr:
            return tirx.call_pure_extern(dtype, name, *(tensor[i] for tensor in tensors))

        return te.compute(tensors[0].shape, element, "output")

    return call_operator(builder, function, compute, arguments, is_element_wise=True)
