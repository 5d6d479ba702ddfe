"""Weights and biases whose sums fill the range of the output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from support.tflite_builder import Quantization, per_channel, per_tensor

from .model import Constant, Spec


@dataclass(frozen=True)
class Scheme:
    """The element types of activations, weights and bias; no bias if that is ""."""

    activations: str = "int8"
    weights: str = "int8"
    bias: str = "int32"


INT8 = Scheme()
NO_BIAS = Scheme(bias="")
INT4 = Scheme(weights="int4")
INT16 = Scheme("int16", "int8", "int64")
INT16_BIAS32 = Scheme("int16", "int8", "int32")
INT16_NO_BIAS = Scheme("int16", "int8", "")
UINT8 = Scheme("uint8", "uint8", "int32")

_WEIGHT_LIMITS = {"int8": (-127, 127), "int4": (-7, 7), "uint8": (0, 255)}


@dataclass(frozen=True)
class Weights:
    """How weights are drawn.

    per_channel: one scale an output channel, else one for all.
    limit: the largest magnitude, if less than the type allows; small ones give multipliers
        above one.
    spread: three standard deviations of the outputs, as a share of half the range: above 2,
        many outputs saturate.
    """

    scheme: Scheme = INT8
    per_channel: bool = True
    limit: int | None = None
    spread: float = 1.0
    zero_point: int = 0


def weights_and_bias(
    generator: np.random.Generator,
    how: Weights,
    shape: tuple[int, ...],
    axis: int,
    taps: int,
    x: Spec,
    y: Spec,
) -> tuple[Constant, Constant | None]:
    """Weights of `shape` with output channels along `axis`; each output sums `taps` products.

    The bias, if there is one, puts the mean of each channel near the middle of the range of `y`.
    """
    low, high = _WEIGHT_LIMITS[how.scheme.weights]
    if how.limit is not None:
        low, high = -how.limit, how.limit
    storage = np.uint8 if how.scheme.weights == "uint8" else np.int8
    data = generator.integers(low, high, shape, storage, endpoint=True)
    centered = data.astype(np.int64) - how.zero_point
    x_mean, x_deviation = _uniform(x)
    y_middle, y_deviation = _uniform(y)
    if not how.scheme.bias:
        x_deviation = float(np.hypot(x_deviation, x_mean))
    total = np.sqrt(taps * np.mean(centered**2)) * x_deviation
    scale = how.spread * y.scale * y_deviation / np.sqrt(3) / (x.scale * total)
    channels = shape[axis]
    scales = scale * generator.uniform(0.6, 1.4, channels if how.per_channel else 1)
    if how.per_channel:
        quantization = per_channel(scales.tolist(), axis)
    else:
        quantization = per_tensor(float(scales[0]), how.zero_point)
    weights = Constant(data, quantization, how.scheme.weights)
    if not how.scheme.bias:
        return weights, None
    sums = np.moveaxis(centered, axis, 0).reshape(channels, -1).sum(axis=1)
    middle = y_middle * y.scale / (x.scale * scales)
    bias = middle - x_mean * sums + generator.uniform(-0.5, 0.5, channels) * total
    bias = np.clip(bias, -(2**30), 2**30).astype(how.scheme.bias)
    return weights, Constant(bias, _bias_quantization(quantization, x.scale))


def _uniform(spec: Spec) -> tuple[float, float]:
    """Mean and standard deviation, if uniform over the type, less the zero point."""
    limits = np.iinfo(spec.dtype)
    extent = float(limits.max) - float(limits.min)
    return limits.min + extent / 2 - spec.zero_point, extent / np.sqrt(12)


def _bias_quantization(weights: Quantization, x_scale: float) -> Quantization:
    # In float32, as converters do.
    scales = np.array(weights.scales, np.float32) * np.float32(x_scale)
    return Quantization(tuple(scales.tolist()), (0,) * len(scales))
