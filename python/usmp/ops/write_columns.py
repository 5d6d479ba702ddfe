"""Columns of an image written into the whole of it, which is made of several such parts."""

from __future__ import annotations

import tvm
from tvm import relax, tirx
from tvm.ir import Call
from tvm.s_tir import SBlock, SBlockRealize

from usmp.ops.emit import OPAQUE, add_prim_func, shape_of
from usmp.ops.statements import loop
from usmp.tir.tensor_intrin import tensor_intrin

_NAME = "write_columns"


def with_columns(
    builder: relax.BlockBuilder,
    whole: relax.Expr | None,
    part: relax.Expr,
    ty: relax.TensorType,
    first: int,
) -> Call:
    """A call of a PrimFunc that writes a part into an image, in place.

    The loop is over rows, then over columns, so that the part can come row by row.

    Parameters
    ----------
    whole
        the image, of which other columns are written; None for a new one, of which no others are.
    part
        as many columns as it has, with all rows and channels: (1, rows, columns, channels).
    ty
        of the image.
    first
        where the part begins.

    Returns
    -------
    Call
        What the image has become.
    """
    _, rows, columns, channels = shape_of(part)
    dtype = str(ty.dtype)
    source = tirx.decl_buffer([1, rows, columns, channels], dtype, "part")
    target = tirx.decl_buffer([int(extent) for extent in ty.shape], dtype, "whole")
    size = channels * (tvm.DataType(dtype).bits // 8)

    def pixel(y: tirx.Var, x: tirx.Var) -> tirx.Stmt:
        def element(c: tirx.Var) -> tirx.Stmt:
            return tirx.BufferStore(target, source[0, y, x, c], [0, y, x + first, c])

        arguments = [target[0, y, x + first, 0], source[0, y, x, 0], size]
        return tensor_intrin("tvmgen_copy", arguments, loop("c", channels, element))

    body = loop("y", rows, lambda y: loop("x", columns, lambda x: pixel(y, x)))
    if whole is None:
        # Operators are looked at as blocks. Of an opaque one nothing is taken to be known, also not
        # that all of its result is written; nothing is fused with it.
        block = SBlock([], [], [], "root", body)
        func = tirx.PrimFunc([source, target], SBlockRealize([], True, block))
        name = add_prim_func(builder, func.with_attr("op_pattern", OPAQUE), _NAME, None)
        return relax.call_tir(name, relax.Tuple([part]), ty)
    name = add_prim_func(builder, tirx.PrimFunc([target, source], body), _NAME, None)
    return relax.op.call_tir_inplace(name, relax.Tuple([whole, part]), [0], [ty])
