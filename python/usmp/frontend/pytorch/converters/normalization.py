"""Converters of batch, layer, group and instance normalization."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Missing, Operator, converts, rank_of
from usmp.ops.emit import shape_of

_STATISTICS = Missing("returns statistics, which are not supported; use the normalized tensor only")


@converts("_native_batch_norm_legit_no_training.default")
def _batch_norm(operator: Operator) -> list[Expr | Missing]:
    data = operator["input"]
    channels = [shape_of(data)[1]]
    result = relax.op.nn.batch_norm(
        data,
        *_scale_and_bias(operator, channels),
        operator["running_mean"],
        operator["running_var"],
        axis=1,
        epsilon=operator["eps"],
        training=False,
    )
    return [relax.TupleGetItem(operator.emit(result), 0), _STATISTICS, _STATISTICS]


@converts("_native_batch_norm_legit.no_stats")
def _batch_norm_of_batch(operator: Operator) -> list[Expr | Missing]:
    """Convert batch normalization by the batch's own statistics, to which PyTorch decomposes
    instance normalization."""
    data = operator["input"]
    channels = [shape_of(data)[1]]
    result = relax.op.nn.instance_norm(
        data,
        *_scale_and_bias(operator, channels),
        channel_axis=1,
        axes=[0, *range(2, rank_of(data))],
        epsilon=operator["eps"],
    )
    return [result, _STATISTICS, _STATISTICS]


@converts("native_layer_norm.default")
def _layer_norm(operator: Operator) -> list[Expr | Missing]:
    shape = list(operator["normalized_shape"])
    result = relax.op.nn.layer_norm(
        operator["input"],
        *_scale_and_bias(operator, shape),
        axes=list(range(-len(shape), 0)),
        epsilon=operator["eps"],
    )
    return [result, _STATISTICS, _STATISTICS]


@converts("native_group_norm.default")
def _group_norm(operator: Operator) -> list[Expr | Missing]:
    data = operator["input"]
    channels = [shape_of(data)[1]]
    result = relax.op.nn.group_norm(
        data,
        *_scale_and_bias(operator, channels),
        num_groups=operator["group"],
        channel_axis=1,
        axes=list(range(2, rank_of(data))),
        epsilon=operator["eps"],
    )
    return [result, _STATISTICS, _STATISTICS]


def _scale_and_bias(operator: Operator, shape: list[int]) -> list[Expr]:
    """Return scale and bias of `shape`, with ones and zeros for omitted ones."""
    operands = (operator["weight"], 1), (operator["bias"], 0)
    return [
        relax.const(np.full(shape, default, operator.dtype)) if value is None else value
        for value, default in operands
    ]
