"""Writes of columns into an image that is assembled from several parts."""

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
    """Return a call of a PrimFunc that writes a part into an image, in place.

    The outer loop is over rows, so that the part can be streamed row by row.

    Parameters
    ----------
    whole
        the image, with other columns already written; None for a new image.
    part
        some columns with all rows and channels: (1, rows, columns, channels).
    ty
        type of the image.
    first
        index of the part's first column.

    Returns
    -------
    Call
        The updated image.
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
        # TVM expects operators in blocks. It does not fuse an opaque block, and does not assume
        # that the block writes all of its result.
        block = SBlock([], [], [], "root", body)
        func = tirx.PrimFunc([source, target], SBlockRealize([], True, block))
        name = add_prim_func(builder, func.with_attr("op_pattern", OPAQUE), _NAME, None)
        return relax.call_tir(name, relax.Tuple([part]), ty)
    name = add_prim_func(builder, tirx.PrimFunc([target, source], body), _NAME, None)
    return relax.op.call_tir_inplace(name, relax.Tuple([whole, part]), [0], [ty])
