"""Converters of pooling operators."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from tvm import relax
from tvm.ir import Expr

from usmp.frontend.pytorch.converters.operator import Missing, Operator, converts, of_axes, rank_of
from usmp.ops.emit import dtype_of, shape_of
from usmp.ops.real import extremes
from usmp.tir.dtypes import is_float

_AVERAGE = {2: relax.op.nn.avg_pool2d, 3: relax.op.nn.avg_pool3d}
_MAXIMUM = {2: relax.op.nn.max_pool2d, 3: relax.op.nn.max_pool3d}
_ADAPTIVE = {2: relax.op.nn.adaptive_avg_pool2d, 3: relax.op.nn.adaptive_avg_pool3d}
_LAYOUTS = {2: "NCHW", 3: "NCDHW"}
_INDICES = Missing("returns indices, which are not supported; use return_indices=False")


@dataclass(frozen=True)
class Window:
    """The kernel windows along one axis.

    Parameters
    ----------
    extent
        the number of elements of the input.
    reach
        the number of elements that a window spans, including dilation.
    stride, padding
        the operator's stride, and its padding on each side, in elements.
    count
        the number of windows.
    """

    extent: int
    reach: int
    stride: int
    padding: int
    count: int

    @property
    def behind(self) -> int:
        """The padding behind the input that the last window needs, in elements."""
        end = (self.count - 1) * self.stride + self.reach - self.padding
        return max(end - self.extent, 0)

    def sizes(self, with_padding: bool) -> np.ndarray:
        """Return the elements of the input, or of input and padding, that each window averages."""
        first = np.arange(self.count) * self.stride - self.padding
        end = np.minimum(first + self.reach, self.extent + self.padding)
        if not with_padding:
            first, end = np.maximum(first, 0), np.minimum(end, self.extent)
        sizes: np.ndarray = end - first
        return sizes


def _windows(operator: Operator, rank: int) -> list[Window]:
    extents = shape_of(operator["self"])[-rank:]
    kernel = of_axes(operator["kernel_size"], rank)
    strides = of_axes(operator["stride"] or kernel, rank)
    padding = of_axes(operator["padding"], rank)
    dilation = of_axes(operator.get("dilation", 1), rank)
    windows = []
    for extent, k, s, p, d in zip(extents, kernel, strides, padding, dilation, strict=True):
        reach = (k - 1) * d + 1
        span = extent + 2 * p - reach
        count = span // s + 1
        # ceil_mode adds a partial window if it starts before the padding behind the input.
        if operator["ceil_mode"] and span % s and count * s < extent + p:
            count += 1
        windows.append(Window(extent, reach, s, p, count))
    return windows


def _with_batch(operator: Operator, rank: int) -> Expr:
    data = operator["self"]
    if rank_of(data) == rank + 2:
        return data
    return operator.emit(relax.op.expand_dims(data, 0))


def _without_batch(operator: Operator, result: Expr, rank: int) -> Expr:
    has_batch = rank_of(operator["self"]) == rank + 2
    return result if has_batch else relax.op.squeeze(operator.emit(result), [0])


@converts("avg_pool2d.default")
def _avg_pool2d(operator: Operator) -> Expr:
    return _average(operator, 2)


@converts("avg_pool3d.default")
def _avg_pool3d(operator: Operator) -> Expr:
    return _average(operator, 3)


def _average(operator: Operator, rank: int) -> Expr:
    dtype = operator.dtype
    if not is_float(dtype):
        raise operator.refusal("of integers is not supported; convert them to float32 before")
    windows = _windows(operator, rank)
    with_padding, override = operator["count_include_pad"], operator["divisor_override"]
    counts_all = with_padding or override is not None
    result = _AVERAGE[rank](
        _with_batch(operator, rank),
        pool_size=[w.reach for w in windows],
        strides=[w.stride for w in windows],
        padding=[*(w.padding for w in windows), *(w.behind for w in windows)],
        count_include_pad=counts_all,
        layout=_LAYOUTS[rank],
    )
    if counts_all:
        reach = math.prod(w.reach for w in windows)
        sizes = np.array(1.0)
        for window in windows:
            sizes = np.multiply.outer(sizes, window.sizes(with_padding=True))
        factors = reach / (sizes if override is None else np.full((1,) * rank, float(override)))
        if (factors != 1).any():
            # PyTorch divides by the elements in the padded input, or by `divisor_override`.
            factor = relax.const(factors.astype(dtype))
            result = relax.op.multiply(operator.emit(result), factor)
    return _without_batch(operator, result, rank)


@converts("max_pool2d_with_indices.default")
def _max_pool2d(operator: Operator) -> list[Expr | Missing]:
    return _maximum(operator, 2)


@converts("max_pool3d_with_indices.default")
def _max_pool3d(operator: Operator) -> list[Expr | Missing]:
    return _maximum(operator, 3)


def _maximum(operator: Operator, rank: int) -> list[Expr | Missing]:
    windows = _windows(operator, rank)
    result = _MAXIMUM[rank](
        _with_batch(operator, rank),
        pool_size=of_axes(operator["kernel_size"], rank),
        strides=[w.stride for w in windows],
        padding=[*(w.padding for w in windows), *(w.behind for w in windows)],
        dilation=of_axes(operator["dilation"], rank),
        layout=_LAYOUTS[rank],
    )
    return [_without_batch(operator, result, rank), _INDICES]


@converts("_adaptive_avg_pool2d.default")
def _adaptive_avg_pool2d(operator: Operator) -> Expr:
    return _adaptive_average(operator, 2)


@converts("_adaptive_avg_pool3d.default")
def _adaptive_avg_pool3d(operator: Operator) -> Expr:
    return _adaptive_average(operator, 3)


def _adaptive_average(operator: Operator, rank: int) -> Expr:
    if not is_float(dtype_of(operator["self"])):
        raise operator.refusal("of integers is not supported; convert them to float32 before")
    data = _with_batch(operator, rank)
    result = _ADAPTIVE[rank](data, list(operator["output_size"]), layout=_LAYOUTS[rank])
    return _without_batch(operator, result, rank)


@converts("adaptive_max_pool2d.default", "adaptive_max_pool3d.default")
def _adaptive_maximum(operator: Operator) -> list[Expr | Missing]:
    sizes = [int(size) for size in operator["output_size"]]
    return [extremes.adaptive_max_pool(operator.builder, operator["self"], sizes), _INDICES]
