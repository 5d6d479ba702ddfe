"""Random graphs of quantized operators on images: what is fused, moved or computed in place."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

from support.operator_trials.tflite.draw import Draw, Model, trial
from support.operator_trials.tflite.windows import sliding, weights
from support.operator_trials.trial import Trial
from support.quantized_models.chain import Chain
from support.quantized_models.model import Spec, int32
from support.quantized_models.windows import Window
from support.tflite_builder import options

_MOST_ELEMENTS = 2000
_ACTIVATIONS = (0, 0, 0, 1, 2, 3)
_CURVES = {"int16": (1 / 32768, 0), "LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}
"""Scale and zero point of the output, by its type or else the operator."""


def graph_trial(random: Random, dtype: str) -> Trial:
    """Two to eight operators on int8 or int16; often on the newest tensor, with one output or
    more."""
    draw, chain = Draw(random), Chain()
    shape = (draw.number(1, 2), draw.number(2, 6), draw.number(2, 6), draw.number(1, 4))
    values = [chain.input(draw.spec(shape, dtype))]
    for _ in range(draw.number(2, 8)):
        x = values[-1] if draw.flag(0.75) else draw.choice(values)
        values.append(draw.choice(_STEPS)(draw, chain, x))
    # What nothing reads is an output, too.
    read = {index for operator in chain.graph.operators for index in operator.inputs}
    outputs = [value for value in values[1:] if value not in read or draw.flag(0.15)]
    names = " ".join(str(operator.code) for operator in chain.graph.operators)
    return trial("graph", chain.finish(*outputs), f"{dtype}: {names}", Model([], []), random)


def _window(draw: Draw, spec: Spec) -> Window:
    kernel = tuple(draw.number(1, min(3, extent)) for extent in spec.shape[1:3])
    stride = (draw.number(1, 2), draw.number(1, 2))
    return Window(kernel, stride, (1, 1), draw.choice(("SAME", "VALID")))


def _convolve(draw: Draw, chain: Chain, x: int) -> int:
    spec = chain.specs[x]
    at, depth, channels = _window(draw, spec), spec.shape[3], draw.number(1, 4)
    y = draw.spec((spec.shape[0], *at.output(*spec.shape[1:3]), channels), spec.dtype)
    taps = depth * math.prod(at.kernel)
    constants = weights(draw, (channels, *at.kernel, depth), 0, taps, spec, y)
    table = sliding("Conv2DOptions", at, draw.choice(_ACTIVATIONS))
    return chain.apply("CONV_2D", [x, *(c for c in constants if c)], y, table)


def _pool(draw: Draw, chain: Chain, x: int) -> int:
    code = draw.choice(("AVERAGE_POOL_2D", "MAX_POOL_2D"))
    return chain.pool(code, x, _window(draw, chain.specs[x]))


def _combine(draw: Draw, chain: Chain, x: int) -> int:
    spec = chain.specs[x]
    alike = [index for index, other in chain.specs.items() if other.shape == spec.shape]
    channels = draw.constant(draw.spec((spec.shape[3],), spec.dtype))
    other = draw.choice(alike) if draw.flag() else channels
    code, table = draw.choice((("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MUL", "MulOptions")))
    operands = [x, other] if draw.flag(0.7) else [other, x]
    activation = options(table, fused_activation_function=draw.choice(_ACTIVATIONS))
    return chain.apply(code, operands, draw.spec(spec.shape, spec.dtype), activation)


def _activate(draw: Draw, chain: Chain, x: int) -> int:
    spec = chain.specs[x]
    code = draw.choice(("RELU", "LEAKY_RELU", "LOGISTIC", "TANH", "ABS", "QUANTIZE"))
    table = options("LeakyReluOptions", alpha=draw.scale(0.1, 1)) if code == "LEAKY_RELU" else None
    y = draw.spec(spec.shape, spec.dtype)
    if code in ("LOGISTIC", "TANH"):
        key = spec.dtype if spec.dtype in _CURVES else code
        y = Spec(spec.shape, *_CURVES[key], spec.dtype)
    return chain.apply(code, [x], y, table)


def _softmax(draw: Draw, chain: Chain, x: int) -> int:
    spec = chain.specs[x]
    y = Spec(spec.shape, *_CURVES[spec.dtype if spec.dtype in _CURVES else "LOGISTIC"], spec.dtype)
    return chain.apply("SOFTMAX", [x], y, options("SoftmaxOptions", beta=1.0))


def _pad(draw: Draw, chain: Chain, x: int) -> int:
    if math.prod(chain.specs[x].shape) > _MOST_ELEMENTS:
        return _pool(draw, chain, x)
    return chain.pad(x, *((draw.number(0, 2), draw.number(0, 2)) for _ in range(2)))


def _join(draw: Draw, chain: Chain, x: int) -> int:
    spec = chain.specs[x]
    if math.prod(spec.shape) > _MOST_ELEMENTS:
        return _cut(draw, chain, x)
    alike = [index for index, other in chain.specs.items() if other == spec]
    axis, parts = draw.number(1, 3), [x, draw.choice(alike)]
    shape = [e * (1 + (at == axis)) for at, e in enumerate(spec.shape)]
    return chain.apply(
        "CONCATENATION", parts, spec(*shape), options("ConcatenationOptions", axis=axis)
    )


def _cut(draw: Draw, chain: Chain, x: int) -> int:
    spec = chain.specs[x]
    begin = [draw.number(0, extent - 1) for extent in spec.shape]
    size = [draw.number(1, e - b) for e, b in zip(spec.shape, begin, strict=True)]
    return chain.apply("SLICE", [x, int32(*begin), int32(*size)], spec(*size))


def _mean(draw: Draw, chain: Chain, x: int) -> int:
    spec = chain.specs[x]
    axes = draw.choice(((1,), (1, 2), (3,)))
    shape = [1 if axis in axes else extent for axis, extent in enumerate(spec.shape)]
    table = options("ReducerOptions", keep_dims=True)
    return chain.apply("MEAN", [x, int32(*axes)], draw.spec(shape, spec.dtype), table)


_STEPS: tuple[Callable[[Draw, Chain, int], int], ...] = (
    _convolve,
    _convolve,
    _pool,
    _combine,
    _combine,
    _activate,
    _activate,
    _softmax,
    _pad,
    _join,
    _cut,
    _mean,
)
