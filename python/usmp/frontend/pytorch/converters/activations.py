"""Converters of activation functions."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.elementwise import call_c
from usmp.frontend.pytorch.converters.operator import Operator, cast, constant, converts
from usmp.ops.emit import dtype_of
from usmp.ops.real.clamps import clamp
from usmp.ops.real.order import extreme_of_two
from usmp.tir.dtypes import is_float


@converts("relu.default")
def _relu(operator: Operator) -> Expr:
    return relax.op.nn.relu(operator["self"])


@converts("leaky_relu.default")
def _leaky_relu(operator: Operator) -> Expr:
    slope = operator["negative_slope"]
    if slope == 0:
        # TVM's leakyrelu with slope 0 is relu, also for -infinity, because it takes x * 0 as 0.
        return relax.op.nn.relu(operator["self"])
    return relax.op.nn.leakyrelu(operator["self"], slope)


@converts("elu.default")
def _elu(operator: Operator) -> Expr:
    """Convert `elu`, to which PyTorch decomposes `selu`, `celu` and others."""
    data, dtype = operator["self"], operator.dtype
    inner = relax.op.multiply(data, constant(operator["input_scale"], dtype))
    exponential = call_c(operator, "expm1", operator.emit(inner))
    negative = constant(operator["alpha"] * operator["scale"], dtype)
    return relax.op.where(
        relax.op.greater(data, constant(0, dtype)),
        relax.op.multiply(data, constant(operator["scale"], dtype)),
        relax.op.multiply(operator.emit(exponential), negative),
    )


@converts("gelu.default")
def _gelu(operator: Operator) -> Expr:
    is_tanh = operator["approximate"] == "tanh"
    return (relax.op.nn.gelu_tanh if is_tanh else relax.op.nn.gelu)(operator["self"])


@converts("_softmax.default")
def _softmax(operator: Operator) -> Expr:
    data = operator.emit(cast(operator["self"], operator.dtype))
    return relax.op.nn.softmax(data, operator["dim"])


@converts("_log_softmax.default")
def _log_softmax(operator: Operator) -> Expr:
    data = operator.emit(cast(operator["self"], operator.dtype))
    return relax.op.nn.log_softmax(data, operator["dim"])


@converts("hardtanh.default")
def _hardtanh(operator: Operator) -> Expr:
    return _clamped(operator, operator["self"], operator["min_val"], operator["max_val"])


@converts("clamp.default")
def _clamp(operator: Operator) -> Expr:
    return _clamped(operator, operator["self"], operator["min"], operator["max"])


@converts("clamp.Tensor")
def _clamp_tensors(operator: Operator) -> Expr:
    data = operator.emit(cast(operator["self"], operator.dtype))
    for name in ("min", "max"):
        bound = operator[name]
        if bound is not None:
            limit = operator.emit(cast(bound, operator.dtype))
            data = operator.emit(extreme_of_two(data, limit, is_largest=name == "min"))
    return data


def _clamped(operator: Operator, data: Expr, low: float | None, high: float | None) -> Expr:
    """Clamp data between two numbers; an upper bound below the lower bound wins."""
    dtype = operator.dtype
    if dtype_of(data) != dtype:
        data = operator.emit(cast(data, dtype))
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    if math.isnan(low) or math.isnan(high):
        return relax.op.full_like(data, constant(math.nan, dtype))
    low = min(low, high)
    if is_float(dtype):
        return clamp(data, low, high)
    limits = np.iinfo(dtype)
    low, high = (max(min(bound, limits.max), limits.min) for bound in (low, high))
    return relax.op.clip(data, int(low), int(high))
