"""Converter of attention in programs with states; PyTorch decomposes it in other programs."""

from __future__ import annotations

import math
from typing import Any

from tvm import tirx
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Operator, converts
from usmp.frontend.pytorch.converters.state_views import Position, StateView, state_view
from usmp.ops.emit import dtype_of, shape_of
from usmp.ops.real.attention import AttentionShape, Operand, attention


@converts("scaled_dot_product_attention.default")
def _attention(operator: Operator) -> Expr:
    query, key, _ = tensors = [operator[name] for name in ("query", "key", "value")]
    dtype, mask = dtype_of(query), operator["attn_mask"]
    if dtype not in ("float32", "float64"):
        raise operator.refusal(f"of {dtype} is not supported; convert it to float32 before")
    if operator["dropout_p"]:
        raise operator.refusal("with dropout is not supported; call eval() before the export")
    *batch, queries, width = (int(extent) for extent in operator.node.meta["val"].shape)
    keys, depth = shape_of(key)[-2:]
    shape = AttentionShape(tuple(batch), queries, keys, depth, width)
    # The number of query heads that share a head of keys and values.
    groups = shape_of(query)[-3] // shape_of(key)[-3] if operator["enable_gqa"] else 1
    operands = [
        _operand(operator, tensor, count)
        for tensor, count in zip(tensors, (1, groups, groups), strict=True)
    ]
    if mask is not None:
        operands.append(_operand(operator, mask, 1))
    scale = operator["scale"]
    scale = 1 / math.sqrt(depth) if scale is None else float(scale)
    return attention(operator.builder, shape, operands, scale, bool(operator["is_causal"]))


def _operand(operator: Operator, tensor: Expr, groups: int) -> Operand:
    """Return a tensor broadcast over the batch axes; each of its heads serves `groups` heads."""
    extents = shape_of(tensor)
    view = state_view(operator, tensor)
    if view is None or view.factor is not None:
        view = StateView(tensor)

    def element(buffer: tirx.Buffer, place: Position) -> Any:
        own = list(place[len(place) - len(extents) :])
        if groups > 1:
            own[-3] = tirx.indexdiv(own[-3], groups)
        inside = [0 if extent == 1 else i for extent, i in zip(extents, own, strict=True)]
        return view.element(buffer, inside)

    return Operand(view.source, element)
