"""Attention that materializes neither scores nor copies of keys and values.

The softmax is computed while the keys are visited: a larger score rescales the sums so far.
Source: M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018,
arXiv:1805.02867.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tvm import relax, tirx

from usmp.ops.emit import OPAQUE, add_prim_func
from usmp.ops.statements import Local, loop, loops
from usmp.tir.nodes import sequence

Position = Sequence[Any]
Element = Callable[[tirx.Buffer, Position], tirx.Expr]
"""Maps a buffer and a position to the value of the element there."""


@dataclass(frozen=True)
class Operand:
    """A tensor that attention reads.

    Parameters
    ----------
    tensor
        the argument of the call.
    element
        maps a buffer and a position in the shape that attention expects to the value there.
    """

    tensor: relax.Expr
    element: Element


@dataclass(frozen=True)
class AttentionShape:
    """The extents of attention.

    Parameters
    ----------
    batch
        extents of the leading axes, heads among them.
    queries, keys
        number of positions.
    depth, width
        number of features of a key, and of a value.
    """

    batch: tuple[int, ...]
    queries: int
    keys: int
    depth: int
    width: int


def attention(
    builder: relax.BlockBuilder,
    shape: AttentionShape,
    operands: Sequence[Operand],
    scale: float,
    is_causal: bool,
) -> relax.Expr:
    """Return the call of a PrimFunc: softmax(queries @ transposed keys * scale + mask) @ values.

    A query without visible keys gives zeros.

    Parameters
    ----------
    operands
        queries [*batch, queries, depth], keys [*batch, keys, depth] and values [*batch, keys,
        width] of one float type; then optionally the mask [*batch, queries, keys]: booleans that
        are true for visible keys, or numbers to add.
    scale
        factor of the products.
    is_causal
        whether a query sees only the keys up to its own position.

    Returns
    -------
    relax.Expr
        The call; its result is a tensor [*batch, queries, width].
    """
    dtype = str(operands[0].tensor.ty.dtype)
    names = ("queries", "keys", "values", "mask")
    buffers = [
        tirx.decl_buffer([int(e) for e in o.tensor.ty.shape], str(o.tensor.ty.dtype), name)
        for name, o in zip(names, operands, strict=False)
    ]
    extents = (*shape.batch, shape.queries, shape.width)
    output = tirx.decl_buffer(extents, dtype, "output")
    reads = [partial(o.element, b) for o, b in zip(operands, buffers, strict=True)]
    body = loops(
        (*shape.batch, shape.queries),
        lambda row: _row(shape, reads, output, row, scale, is_causal),
    )
    func = tirx.PrimFunc([*buffers, output], body).with_attr("op_pattern", OPAQUE)
    callee = add_prim_func(builder, func, "attention", None)
    return relax.call_tir(
        callee, [o.tensor for o in operands], out_ty=relax.TensorType(extents, dtype)
    )


def _row(
    shape: AttentionShape,
    reads: Sequence[Callable[[Position], tirx.Expr]],
    output: tirx.Buffer,
    row: tuple[tirx.Var, ...],
    scale: float,
    is_causal: bool,
) -> tirx.Stmt:
    """Return the statements for one query of one head."""
    *batch, query = row
    dtype = str(output.dtype)
    total, largest, score, weight = (
        Local.of(name, dtype) for name in ("total", "largest", "score", "weight")
    )
    zero = tirx.const(0, dtype)

    def result(feature: tirx.Var) -> tirx.Expr:
        return output[(*row, feature)]

    def set_result(value: Callable[[tirx.Var], tirx.Expr]) -> tirx.Stmt:
        return loop("e", shape.width, lambda e: tirx.BufferStore(output, value(e), [*row, e]))

    def add_position(position: tirx.Var) -> tirx.Stmt:
        product = loop(
            "d",
            shape.depth,
            lambda d: score.add(reads[0]((*row, d)) * reads[1]((*batch, position, d))),
        )
        scored = score.get() * tirx.const(scale, dtype)
        visible: list[tirx.Expr] = [position <= query] if is_causal else []
        if len(reads) > 3:
            mask = reads[3]((*row, position))
            if str(mask.ty.dtype) == "bool":
                visible.append(mask)
            else:
                scored = scored + mask
        larger = [
            weight.set(tirx.exp(largest.get() - score.get())),
            set_result(lambda e: result(e) * weight.get()),
            total.set(total.get() * weight.get()),
            largest.set(score.get()),
        ]
        added = [
            # The first score is the largest so far.
            tirx.IfThenElse(tirx.EQ(total.get(), zero), largest.set(score.get()), None),
            tirx.IfThenElse(largest.get() < score.get(), tirx.SeqStmt(larger), None),
            weight.set(tirx.exp(score.get() - largest.get())),
            total.add(weight.get()),
            set_result(lambda e: result(e) + weight.get() * reads[2]((*batch, position, e))),
        ]
        # Leave out keys that minus infinity masks, but propagate NaN.
        counts = tirx.Not(score.get() < tirx.min_value(dtype))
        statement = sequence(
            [
                score.set(zero),
                product,
                score.set(scored),
                tirx.IfThenElse(counts, tirx.SeqStmt(added), None),
            ]
        )
        return tirx.IfThenElse(tirx.all(*visible), statement, None) if visible else statement

    divided = set_result(lambda e: result(e) / total.get())
    return sequence(
        [
            *total.declared(zero),
            *largest.declared(zero),
            *score.declared(zero),
            *weight.declared(zero),
            set_result(lambda _: zero),
            loop("s", shape.keys, add_position),
            tirx.IfThenElse(tirx.NE(total.get(), zero), divided, None),
        ]
    )
